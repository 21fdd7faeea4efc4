import * as z from 'zod';
import { engineKind } from './engine-kind.ts';
import { processEngine } from './process-engine.ts';
import { group, text, wholeNumber } from './setting-types.ts';

const { startMs, idleMs, stopMs, memoryBytesMax, group: sharedGroup, callQueueMax } = processEngine.shape;
const { firstByteMs, totalMs, keepAliveMs, commentEveryMs, outputLimit } = processEngine.shape;

const argumentsAllowed = 'a list of texts, such as [--n-gpu-layers, "99"]';

export const localEngine = group({
  kind: engineKind('local'),
  threads: wholeNumber(1, 1_024)
    .optional()
    .describe('Threads of each program. Default: one less than the machine has cores, at least 1.'),
  promptCache: z
    .boolean({ error: 'true or false' })
    .default(false)
    .describe(
      'Whether chat models keep earlier prompts. The answers then show one account how much of its prompt another has sent before.',
    ),
  arguments: z
    .array(text(/^[^\0]*$/, 'a text (in quotes if it is a number)'), { error: argumentsAllowed })
    .default([])
    .describe('Further arguments of llama-server, such as [--n-gpu-layers, "99"].'),
  startMs,
  idleMs,
  stopMs,
  memoryBytesMax,
  group: sharedGroup,
  callsMax: wholeNumber(1, 1_024)
    .default(2)
    .describe('Concurrent calls of each program. A chat model needs memory for the context of each.'),
  callQueueMax,
  firstByteMs,
  totalMs,
  keepAliveMs,
  commentEveryMs,
  outputLimit,
}).describe(
  'Models on this machine, from files that `parley models` manages. Each runs in a program of its own, which Parley starts for the first request and ends when it has been idle. Times (…Ms) are in milliseconds.',
);
