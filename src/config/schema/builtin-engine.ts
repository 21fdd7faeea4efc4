import { availableParallelism } from 'node:os';
import { engineKind } from './engine-kind.ts';
import { group, wholeNumber } from './setting-types.ts';

/** More threads for one engine speed up no single request and take cores from the others. */
const defaultThreadsMax = 4;

// A transform fills in defaults that depend on the machine, to keep the JSON Schema the same everywhere.
const threads = (description: string) =>
  wholeNumber(1, 64)
    .optional()
    .transform((count) => count ?? Math.min(availableParallelism(), defaultThreadsMax))
    .describe(`${description} Default: the number of cores, at most ${defaultThreadsMax}.`);

export const builtinEngine = group({
  kind: engineKind('builtin'),
  speechThreads: threads('Threads that synthesise speech.'),
  encoderThreads: threads('Threads that encode speech to MP3, Opus and FLAC.'),
  recognizers: wholeNumber(1, 256)
    .optional()
    .transform((count) => count ?? availableParallelism())
    .describe(
      'Threads that recognise speech, each with up to 400 MB while it runs and half a minute longer (100 MB with pocketsphinx). Default: the number of cores.',
    ),
  speechQueueMax: wholeNumber(0, 100_000)
    .default(64)
    .describe('Speech requests that may wait for a thread. Further ones get 503 overloaded.'),
  transcriptionQueueMax: wholeNumber(0, 100_000)
    .default(32)
    .describe('Transcriptions that may wait for a thread. Further ones get 503 overloaded.'),
}).describe(
  'The engine inside Parley: flite speech, transcription by Moonshine or pocketsphinx, and an ELIZA chat. It needs no network.',
);
