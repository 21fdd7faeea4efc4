import { z } from 'zod';
import { group, oneOf, text, wholeNumber } from './setting.ts';
import { modelNames, secretSource, timeLimits, voiceLanguages } from './upstream.ts';

/** Headers that belong to a connection or to the request itself. */
const ownHeaders = new Set([
  'connection',
  'content-length',
  'content-type',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
const headerName = text(/^[A-Za-z0-9_-]+$/, 'the name of a header').refine(
  (name) => !ownHeaders.has(name.toLowerCase()),
  { error: 'the name of a header other than those of the connection and the content' },
);

const retryStatus = z.union([z.literal(429), z.literal(503)], { error: '429 or 503' });

export const openaiEngine = group({
  kind: z.literal('openai').describe('Any server that speaks the OpenAI API, for all three operations.'),
  baseUrl: text(
    /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
    'a URL such as http://127.0.0.1:8000/v1, without user, query and fragment',
  ).describe('Where it is, with its version: http://127.0.0.1:8000/v1.'),
  ...secretSource,
  models: modelNames,
  headers: z
    .record(headerName, text(/^[\x20-\x7e]*$/, 'printable ASCII in quotes'), {
      error: 'a map of header names to values',
    })
    .default({})
    .describe('Headers that every request carries as well. Secrets belong in `apiKeyEnv` or `apiKeyFile`.'),
  ...timeLimits,
  callsMax: wholeNumber(1, 10_000)
    .default(128)
    .describe('Requests that may run at once, each on a connection of its own, which is kept for the next.'),
  callQueueMax: wholeNumber(0, 100_000)
    .default(256)
    .describe('Requests that may wait for one of those to end. One more is answered with 503 overloaded.'),
  keepAliveMs: wholeNumber(1, 3_600_000)
    .default(4_000)
    .describe(
      'How long a connection without a request is kept open, in milliseconds, where the upstream names no time itself. Keep it under the time after which the upstream closes it.',
    ),
  retriesMax: wholeNumber(0, 10)
    .default(2)
    .describe(
      'How often a request is tried again that cannot have run, such as where the connection was refused.',
    ),
  retryStatuses: z
    .array(retryStatus, { error: 'a list of 429 and 503' })
    .default([])
    .describe(
      'Answers after which a request is tried again, or is given to the next engine of its model: 429, 503. Default: none, they are passed on.',
    ),
  breakerFailures: wholeNumber(1, 1_000)
    .default(5)
    .describe('After so many failures to reach it in a row it is left alone for `breakerOpenMs`.'),
  breakerOpenMs: wholeNumber(100, 3_600_000)
    .default(10_000)
    .describe('How long it is left alone, in milliseconds. Then one request tries whether it is back.'),
  transcriptionFormat: oneOf(['verbose_json', 'json'])
    .default('verbose_json')
    .describe(
      'What it is asked for in transcription. `json` for a server that knows no times: then `srt` and `vtt` cannot be had.',
    ),
  voices: voiceLanguages,
  voicesEveryMs: wholeNumber(1_000, 86_400_000)
    .default(300_000)
    .describe('How often its list of voices is read again, in milliseconds.'),
}).describe('A server that speaks the OpenAI API: hosted, vLLM, Ollama, llama.cpp, speaches and others.');
