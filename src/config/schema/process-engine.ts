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
  command: filledList(word, commandAllowed).describe(
    'The program and its arguments, without a shell. Parley puts the path of a Unix socket for `{socket}`, or a free port of 127.0.0.1 for `{port}`: the program must listen there. It must stay in the foreground.',
  ),
  env: variables.describe(
    'Variables of its environment, which may have {socket} and {port} as well. It gets no others but PATH, HOME and LANG: no secret of Parley.',
  ),
  healthPath: text(/^\/[^\s#]*$/, 'a path such as /health', '/health').describe(
    'The path that answers 200 once the program takes requests.',
  ),
  startMs: wholeNumber(100, day, 120_000).describe(
    'How long it may take until it is ready. Then it is killed.',
  ),
  idleMs: wholeNumber(0, day, 300_000).describe(
    'How long after the end of its last request it is ended. 0: never.',
  ),
  stopMs: wholeNumber(0, 600_000, 5_000).describe(
    'How long it may take to end when it is asked to. Then it is killed.',
  ),
  memoryBytes: wholeNumber(mebibyte, 1_048_576 * mebibyte).describe(
    'Memory that it needs, in bytes. It counts this much, or as much as is measured, against `programs.memoryBytesMax`.',
  ),
  memoryBytesMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)).describe(
    'Memory beyond which it is killed, in bytes. Default: no limit.',
  ),
  group: optional(
    text(/^[a-z][a-z0-9-]{0,63}$/, 'at most 64 lower-case letters, digits and hyphens'),
  ).describe(
    'Only one program of a group runs at a time, such as of those that share a graphics card. Default: none.',
  ),
  models: modelNames,
  callsMax: callsMax.unwrap().default(8).describe('Concurrent calls, each on its own connection.'),
  callQueueMax: callQueueMax
    .unwrap()
    .default(64)
    .describe(
      'Further requests that may wait, also while the program is being started. Others get 503 overloaded.',
    ),
  firstByteMs: wholeNumber(10, day, 600_000).describe(
    'How long the first byte of a response may take once it runs.',
  ),
  totalMs,
  keepAliveMs,
  transcriptionFormat,
  outputLimit,
  voices: voices
    .unwrap()
    .default({})
    .describe(
      'Its voices, each with its language: {af_heart: en-US}. A speech model needs them, as the program is not asked.',
    ),
})
  .refine(
    ({ command, env }) =>
      ['{socket}', '{port}'].filter((place) =>
        [...command, ...Object.values(env)].some((one) => one.includes(place)),
      ).length === 1,
    { path: ['command'], error: 'a command with either {socket} or {port}, where the program must listen' },
  )
  .describe(
    'A program on this machine that speaks the OpenAI API. Parley starts it for the first request and ends it when it has been idle. Times (…Ms) are in milliseconds.',
  );
