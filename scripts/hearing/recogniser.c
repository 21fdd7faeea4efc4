/*
 * The recogniser as a WebAssembly module: PocketSphinx with its model of US English.
 *
 * load() reads the model from /model. The build calls it once and keeps the memory as an image, with which a later instance
 * starts: it opens no file. An utterance is begin(), feed(), finish(), words().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "pocketsphinx_internal.h"

/* A word of the dictionary has at most 34 characters, the numbers after it at most 40. */
enum { lineCharactersMax = 128 };

static ps_decoder_t *decoder;
static char *lines;
static size_t linesCapacity;

void *EXPORT(allocate)(size_t bytes) { return malloc(bytes); }

void EXPORT(release)(void *pointer) { free(pointer); }

/* Returns 0, or -1 if the model cannot be read. */
int EXPORT(load)(void) {
  err_set_logfp(NULL);
  cmd_ln_t *config = cmd_ln_init(
      NULL, ps_args(), TRUE,
      "-hmm", "/model/en-us",
      "-lm", "/model/en-us.lm.bin",
      "-dict", "/model/cmudict-en-us.dict",
      "-mmap", "no",
      /* The mean over one utterance only, so that no utterance or caller influences the next. */
      "-cmn", "batch",
      /* The recogniser's own removal of silence would shift all times after it. */
      "-remove_silence", "no",
      /* Lower search limits than the defaults: a quarter less time at the same word error rate. */
      "-maxhmmpf", "3000",
      "-maxwpf", "10",
      NULL);
  decoder = config == NULL ? NULL : ps_init(config);
  return decoder == NULL ? -1 : 0;
}

/* Begins an utterance. Returns 0, or a negative number on failure. */
int EXPORT(begin)(void) {
  int result = ps_start_stream(decoder);
  return result < 0 ? result : ps_start_utt(decoder);
}

/*
 * Takes samples of 16 kHz mono. The whole utterance in one call gives the better words. Returns the frames searched, or a
 * negative number on failure.
 */
int EXPORT(feed)(int16 const *samples, size_t count, int isWhole) {
  return ps_process_raw(decoder, samples, count, FALSE, isWhole);
}

/* Ends the utterance. Returns 0, or a negative number on failure. */
int EXPORT(finish)(void) { return ps_end_utt(decoder); }

static char *reserveLine(size_t length) {
  if (length + lineCharactersMax > linesCapacity) {
    linesCapacity = 2 * linesCapacity + lineCharactersMax;
    lines = realloc(lines, linesCapacity);
    if (lines == NULL) abort();
  }
  return lines + length;
}

/*
 * The words of a finished utterance, a line each: the word, its first and its last frame of 10 ms, and its probability from 0
 * to 1. Silence, noise and the bounds of a sentence are no words.
 */
char const *EXPORT(words)(void) {
  dict_t *dictionary = decoder->dict;
  size_t length = 0;
  *reserveLine(0) = '\0';
  for (ps_seg_t *segment = ps_seg_iter(decoder); segment != NULL; segment = ps_seg_next(segment)) {
    int32 word = dict_wordid(dictionary, ps_seg_word(segment));
    if (word < 0 || !dict_real_word(dictionary, word)) continue;
    int first, last;
    ps_seg_frames(segment, &first, &last);
    double probability = logmath_exp(ps_get_logmath(decoder), ps_seg_prob(segment, NULL, NULL, NULL));
    char *line = reserveLine(length);
    char const *text = dict_basestr(dictionary, word);
    length += snprintf(line, lineCharactersMax, "%s %d %d %.3f\n", text, first, last, probability);
  }
  return lines;
}
