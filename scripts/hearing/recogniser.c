/*
 * The recogniser as a WebAssembly module: PocketSphinx with its model of US English.
 *
 * load() reads the model from /model. The build calls it once and keeps the memory as an image, with which a later instance
 * starts: it opens no file. An utterance is begin(), feed() once or in parts, finish(), words(). One that is fed in parts is
 * recognised as well as a whole one only after prime().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "ngram_search.h"
#include "pocketsphinx_internal.h"

/* A word of the dictionary has at most 34 characters, the numbers after it at most 40. */
enum { lineCharactersMax = 128 };

/* Features of a frame: the model's, with room to spare; and frames that are measured at once. */
enum { coefficientsMax = 32, framesAtOnce = 64 };

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

/*
 * Weight of the language in the last search, beside that in the first. With the default of 1.46, which is meant for two
 * passes, 146 of 551 words are wrong, with 1.2 135, as many as after two passes.
 */
static float32 const languageWeight = 1.2f;

/*
 * Makes the recogniser decode in one pass. A second one over the whole utterance would begin at its end, when the words are
 * awaited, and take a quarter of the time.
 */
static void decodeOnce(void) {
  ngram_search_t *search = (ngram_search_t *)decoder->search;
  search->fwdflat = FALSE;
  search->bestpath_fwdtree_lw_ratio = languageWeight;
}

/*
 * Measures the mean of the features over these samples. The utterances that are fed in parts from now on begin with it instead
 * of the model's own mean, which fits no voice; the features of a whole utterance are centred on their own mean. The instance
 * stays in the mode for parts: use another one for whole utterances. Returns the frames measured, or -1 on failure.
 */
int EXPORT(prime)(int16 const *samples, size_t count) {
  decodeOnce();
  fe_t *frontEnd = decoder->acmod->fe;
  feat_t *features = decoder->acmod->fcb;
  int const coefficients = fe_get_output_size(frontEnd);
  if (coefficients > coefficientsMax) return -1;
  mfcc_t **frames = (mfcc_t **)ckd_calloc_2d(framesAtOnce, coefficients, sizeof(mfcc_t));
  mfcc_t mean[coefficientsMax];
  memset(mean, 0, sizeof(mean));
  int measured = 0;
  fe_start_stream(frontEnd);
  fe_start_utt(frontEnd);
  for (size_t before = count + 1; count > 0 && count < before;) {
    int32 ready = framesAtOnce;
    before = count;
    fe_process_frames(frontEnd, &samples, &count, frames, &ready, NULL);
    for (int frame = 0; frame < ready; frame++) {
      /* A frame without energy says nothing of the voice. */
      if (frames[frame][0] < 0) continue;
      for (int at = 0; at < coefficients; at++) mean[at] += frames[frame][at];
      measured++;
    }
  }
  int32 rest = 0;
  fe_end_utt(frontEnd, frames[0], &rest);
  ckd_free_2d(frames);
  if (measured == 0) return 0;
  for (int at = 0; at < coefficients; at++) mean[at] /= measured;
  cmn_live_set(features->cmn_struct, mean);
  features->cmn = CMN_LIVE;
  return measured;
}

/* Begins an utterance. Returns 0, or a negative number on failure. */
int EXPORT(begin)(void) {
  int result = ps_start_stream(decoder);
  return result < 0 ? result : ps_start_utt(decoder);
}

/*
 * Takes samples of 16 kHz mono. Either the whole utterance in one call, which gives the better words, or a part of it, which
 * allows a partial hypothesis. Returns the frames searched, or a negative number on failure.
 */
int EXPORT(feed)(int16 const *samples, size_t count, int isWhole) {
  return ps_process_raw(decoder, samples, count, FALSE, isWhole);
}

/* The best words so far, separated by spaces; empty before the first. */
char const *EXPORT(partial)(void) {
  int32 score;
  char const *words = ps_get_hyp(decoder, &score);
  return words == NULL ? "" : words;
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
