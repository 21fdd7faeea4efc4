/*
 * The MP3 encoder as a WebAssembly module: LAME, for one file of mono samples at a time.
 *
 * A file is begin(), encode() for each slice of samples, and finish(). Samples are written to input(), bytes are read from output().
 * A new begin() drops a file that was not finished.
 */
#include <stdlib.h>

#include "export.h"
#include "lame.h"

/* A slice; and the bytes of one at most, by lame.h, which are also enough for the end of a file. */
enum { samplesMax = 8192, bytesMax = samplesMax + samplesMax / 4 + 7200 };

static lame_t encoder;
static short input[samplesMax];
static unsigned char output[bytesMax];

short *EXPORT(input)(void) { return input; }

int EXPORT(samples_max)(void) { return samplesMax; }

unsigned char *EXPORT(output)(void) { return output; }

/* `effort` is LAME's quality, from 0, the most, to 9. Returns 0, or a negative number if LAME refuses the settings. */
int EXPORT(begin)(int sampleRate, int kbps, int effort) {
  if (encoder != NULL) lame_close(encoder);
  encoder = lame_init();
  if (encoder == NULL) return -1;
  lame_set_in_samplerate(encoder, sampleRate);
  lame_set_out_samplerate(encoder, sampleRate);
  lame_set_num_channels(encoder, 1);
  lame_set_mode(encoder, MONO);
  lame_set_brate(encoder, kbps);
  lame_set_quality(encoder, effort);
  /* Both would need the whole file. */
  lame_set_bWriteVbrTag(encoder, 0);
  lame_set_findReplayGain(encoder, 0);
  return lame_init_params(encoder);
}

/* Returns the bytes in `output`, or a negative number on failure. */
int EXPORT(encode)(int samples) {
  return lame_encode_buffer(encoder, input, input, samples, output, bytesMax);
}

/* As encode(), for the last bytes. */
int EXPORT(finish)(void) { return lame_encode_flush(encoder, output, bytesMax); }
