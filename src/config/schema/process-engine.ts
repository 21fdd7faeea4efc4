import * as z from 'zod';
import { engineOf, filledList, group, optional, text, wholeNumber } from './setting-types.ts';
import { modelNames, openaiEngine } from './upstream-engine.ts';

const day = 86_400_000;
const mebibyte = 1_048_576;
const { callsMax, callQueueMax, keepAliveMs, totalMs, transcriptionFormat, outputLimit, voices } =
  openaiEngine.shape;

const word = text(/^[^\0]*$/, 'a text (in quotes if it is a number)');
const commandAllowed = 'a list of a program and its arguments, such as [llama-server, --host, "{socket}"]';
const variables = z
  .record(text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable'), word, {
    error: 'a map of variables to texts',
  })
  .default({});

export const processEngine = group({
  ...engineOf('process'),
  command: filledList(word, commandAllowed),
  env: variables,
  healthPath: text(/^\/[^\s#]*$/, 'a path such as /health', '/health'),
  startMs: wholeNumber(100, day, 120_000),
  idleMs: wholeNumber(0, day, 300_000),
  stopMs: wholeNumber(0, 600_000, 5_000),
  memoryBytes: wholeNumber(mebibyte, 1_048_576 * mebibyte),
  memoryBytesMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)),
  group: optional(text(/^[a-z][a-z0-9-]{0,63}$/, 'at most 64 lower-case letters, digits and hyphens')),
  models: modelNames,
  callsMax: callsMax.unwrap().default(8),
  callQueueMax: callQueueMax.unwrap().default(64),
  firstByteMs: wholeNumber(10, day, 600_000),
  totalMs,
  keepAliveMs,
  transcriptionFormat,
  outputLimit,
  voices: voices.unwrap().default({}),
}).refine(
  ({ command, env }) =>
    ['{socket}', '{port}'].filter((place) =>
      [...command, ...Object.values(env)].some((one) => one.includes(place)),
    ).length === 1,
  { path: ['command'], error: 'a command with either {socket} or {port}, where the program must listen' },
);
