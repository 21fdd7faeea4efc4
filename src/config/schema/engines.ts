import { availableParallelism } from 'node:os';
import * as z from 'zod';
import { processEngine, programSettings, word } from './process-engine.ts';
import { engineOf, group, list, optional, text, wholeNumber, yesOrNo } from './setting-types.ts';
import { anthropicEngine, openaiEngine, remoteEngine } from './upstream-engine.ts';

export const localEngine = group({
  ...engineOf('local'),
  threads: optional(wholeNumber(1, 1_024)),
  promptCache: yesOrNo(false),
  arguments: list(word, 'a list of texts, such as [--n-gpu-layers, "99"]'),
  callsMax: wholeNumber(1, 1_024, 2),
  ...programSettings,
});

/** More threads for one engine speed up no single request and take cores from the others. */
const defaultThreadsMax = 4;

// A transform fills in defaults that depend on the machine, to keep the JSON Schema the same everywhere.
const threads = wholeNumber(1, 64)
  .optional()
  .transform((count) => count ?? Math.min(availableParallelism(), defaultThreadsMax));

const builtinEngine = group({
  ...engineOf('builtin'),
  speechThreads: threads,
  encoderThreads: threads,
  recognizers: wholeNumber(1, 256)
    .optional()
    .transform((count) => count ?? availableParallelism()),
  speechQueueMax: wholeNumber(0, 100_000, 64),
  transcriptionQueueMax: wholeNumber(0, 100_000, 32),
});

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
  .prefault(defaultEngines);
