import { engineOf, filledList, group, map, optional, text, wholeNumber } from './setting-types.ts';
import { modelNames, openaiEngine } from './upstream-engine.ts';

const day = 86_400_000;
const mebibyte = 1_048_576;
const { callsMax, callQueueMax, keepAliveMs, totalMs, transcriptionFormat, outputLimit, voices } =
  openaiEngine.shape;

export const word = text(/^[^\0]*$/, 'a text (in quotes if it is a number)');
const commandAllowed = 'a list of a program and its arguments, such as [llama-server, --host, "{socket}"]';
const variable = text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable');

/** The settings of all programs. */
export const programSettings = {
  startMs: wholeNumber(100, day, 120_000),
  idleMs: wholeNumber(0, day, 300_000),
  stopMs: wholeNumber(0, 600_000, 5_000),
  memoryBytesMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)),
  group: optional(text(/^[a-z][a-z0-9-]{0,63}$/, 'at most 64 lower-case letters, digits and hyphens')),
  callQueueMax: callQueueMax.unwrap().default(64),
  firstByteMs: wholeNumber(10, day, 600_000),
  totalMs,
  keepAliveMs,
  outputLimit,
};

export const processEngine = group({
  ...engineOf('process'),
  command: filledList(word, commandAllowed),
  env: map(variable, word, 'a map of variables to texts'),
  healthPath: text(/^\/[^\s#]*$/, 'a path such as /health', '/health'),
  ...programSettings,
  memoryBytes: wholeNumber(mebibyte, 1_048_576 * mebibyte),
  models: modelNames,
  callsMax: callsMax.unwrap().default(8),
  transcriptionFormat,
  voices,
}).refine(
  ({ command, env }) =>
    ['{socket}', '{port}'].filter((place) =>
      [...command, ...Object.values(env)].some((one) => one.includes(place)),
    ).length === 1,
  { path: ['command'], error: 'a command with either {socket} or {port}, where the program must listen' },
);
