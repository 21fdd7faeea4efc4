import { availableParallelism } from 'node:os';
import * as z from 'zod';
import { processEngine } from './process-engine.ts';
import { engineOf, group, list, optional, text, wholeNumber, yesOrNo } from './setting-types.ts';
import { anthropicEngine, openaiEngine, remoteEngine } from './upstream-engine.ts';

const { startMs, idleMs, stopMs, memoryBytesMax, group: sharedGroup, callQueueMax } = processEngine.shape;
const { firstByteMs, totalMs, keepAliveMs, outputLimit } = processEngine.shape;

const argumentsAllowed = 'a list of texts, such as [--n-gpu-layers, "99"]';

export const localEngine = group({
  ...engineOf('local'),
  threads: optional(wholeNumber(1, 1_024)).describe(
    'Threads of each program. Default: one less than the machine has cores, at least 1.',
  ),
  promptCache: yesOrNo(false).describe(
    'Whether chat models keep earlier prompts. The answers then show one account how much of its prompt another has sent before.',
  ),
  arguments: list(text(/^[^\0]*$/, 'a text (in quotes if it is a number)'), argumentsAllowed).describe(
    'Further arguments of llama-server, such as [--n-gpu-layers, "99"].',
  ),
  startMs,
  idleMs,
  stopMs,
  memoryBytesMax,
  group: sharedGroup,
  callsMax: wholeNumber(1, 1_024, 2).describe(
    'Concurrent calls of each program. A chat model needs memory for the context of each.',
  ),
  callQueueMax,
  firstByteMs,
  totalMs,
  keepAliveMs,
  outputLimit,
}).describe(
  'Models on this machine, from files that `parley models` manages. Each runs in a program of its own, which Parley starts for the first request and ends when it has been idle. Times (…Ms) are in milliseconds.',
);

/** More threads for one engine speed up no single request and take cores from the others. */
const defaultThreadsMax = 4;

// A transform fills in defaults that depend on the machine, to keep the JSON Schema the same everywhere.
const threads = (description: string) =>
  wholeNumber(1, 64)
    .optional()
    .transform((count) => count ?? Math.min(availableParallelism(), defaultThreadsMax))
    .describe(`${description} Default: the number of cores, at most ${defaultThreadsMax}.`);

const builtinEngine = group({
  ...engineOf('builtin'),
  speechThreads: threads('Threads that synthesise speech.'),
  encoderThreads: threads('Threads that encode speech to MP3, Opus and FLAC.'),
  recognizers: wholeNumber(1, 256)
    .optional()
    .transform((count) => count ?? availableParallelism())
    .describe(
      'Threads that recognise speech, each with up to 250 MB while it runs and half a minute longer (100 MB with pocketsphinx). Default: the number of cores.',
    ),
  speechQueueMax: wholeNumber(0, 100_000, 64).describe(
    'Speech requests that may wait for a thread. Further ones get 503 overloaded.',
  ),
  transcriptionQueueMax: wholeNumber(0, 100_000, 32).describe(
    'Transcriptions that may wait for a thread. Further ones get 503 overloaded.',
  ),
}).describe(
  'The engine inside Parley: flite speech, transcription by Moonshine or pocketsphinx, and an ELIZA chat. It needs no network.',
);

const engineKinds = [
  anthropicEngine,
  builtinEngine,
  localEngine,
  openaiEngine,
  processEngine,
  remoteEngine,
] as const;
const kindAllowed = `one of ${engineKinds.map(({ shape }) => shape.kind.value).join(', ')}`;

const engine = z.discriminatedUnion('kind', engineKinds, {
  error: (issue) =>
    issue.code === 'invalid_union' ? kindAllowed : 'a map with a `kind`, such as `kind: builtin`',
});

const engineName = text(
  /^[a-z][a-z0-9-]{0,63}$/,
  'at most 64 lower-case letters, digits and hyphens, starting with a letter',
);

export const defaultEngines: Record<string, z.input<typeof engine>> = { builtin: { kind: 'builtin' } };

export const engines = z
  .record(engineName, engine, { error: 'a map of engine names to engines' })
  .prefault(defaultEngines)
  .describe('The engines that serve the models. You choose the name of each; models refer to it.');
