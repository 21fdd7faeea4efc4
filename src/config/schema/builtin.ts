import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { group, wholeNumber } from './setting.ts';

/** More threads than this for one engine speed up no single request and crowd out the others. */
const defaultThreadsMax = 4;

// Defaults that depend on the machine are filled in here rather than declared: the JSON Schema is the same everywhere.
const threads = (description: string) =>
  wholeNumber(1, 64)
    .optional()
    .transform((count) => count ?? Math.min(availableParallelism(), defaultThreadsMax))
    .describe(`${description} Default: as many as there are cores, at most ${defaultThreadsMax}.`);

export const builtinEngine = group({
  kind: z
    .literal('builtin')
    .describe('Speech, transcription and a small chat that need no network and no download.'),
  speechThreads: threads('Threads that synthesise speech, so many sentences at once.'),
  encoderThreads: threads('Threads that encode speech to MP3, Opus and FLAC.'),
  recognizers: wholeNumber(1, 256)
    .optional()
    .transform((count) => count ?? availableParallelism())
    .describe(
      'Recogniser processes that run at once, one a transcription. Default: as many as there are cores.',
    ),
  speechQueueMax: wholeNumber(0, 100_000)
    .default(64)
    .describe('Speech requests that may wait for a thread. One more is answered with 503 overloaded.'),
  transcriptionQueueMax: wholeNumber(0, 100_000)
    .default(32)
    .describe('Transcriptions that may wait for a recogniser. One more is answered with 503 overloaded.'),
}).describe('An engine inside Parley: flite speech, pocketsphinx transcription and an ELIZA chat.');
