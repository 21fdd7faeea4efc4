/** Settings of all engines that call another server. */
import * as z from 'zod';
import { ownMembers } from '../../core/chat/output-limit.ts';
import { engineOf, group, list, oneOf, optional, path, text, wholeNumber, yesOrNo } from './setting-types.ts';

const name = text(/\S/, 'a name');

export const modelNames = z
  .record(name, name, { error: 'a map of model ids to the names of that server' })
  .default({})
  .describe(
    'The names that it has for models, by the id in the catalog: {small: llama-3.2-3b-instruct}. Default: the id itself.',
  );

export const httpUrl = text(
  /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/,
  'a URL such as http://127.0.0.1:8000/v1, without user, query and fragment',
);

/** The configuration says where a key is, never the key itself. */
export const apiKeySettings = {
  apiKeyEnv: optional(text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of a variable')).describe(
    'The environment variable that holds its API key. Default: no key.',
  ),
  apiKeyFile: optional(path('the path of a file')).describe(
    'A file that holds its API key and nothing else. Default: no key.',
  ),
};

const day = 86_400_000;

/** Headers that belong to the connection or to the request itself. */
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

const voiceLanguages = z
  .record(text(/\S/, 'a name'), text(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$/, 'a language tag such as en-US'), {
    error: 'a map of voices to their languages',
  })
  .default({});

const memberName = text(/^\w{1,100}$/, 'the name of a member').refine((name) => !ownMembers.includes(name), {
  error: `the name of a member other than ${ownMembers.join(', ')}`,
});
const memberNames = list(memberName, 'a list of names', 100);

const parameters = group({
  drop: memberNames.describe('Members that the upstream does not get.'),
  allow: memberNames.describe(
    'Members that clients may send although they choose a model, a route, a key or a price, such as service_tier.',
  ),
  set: z
    .record(memberName, z.unknown(), { error: 'a map of members to their values' })
    .default({})
    .describe('Members of every request, in place of those of the client.'),
}).prefault({});

export const openaiEngine = group({
  ...engineOf('openai'),
  baseUrl: httpUrl.describe('Its URL with the version, such as http://127.0.0.1:8000/v1.'),
  ...apiKeySettings,
  models: modelNames,
  headers: z
    .record(headerName, text(/^[\x20-\x7e]*$/, 'printable ASCII in quotes'), {
      error: 'a map of header names to values',
    })
    .default({})
    .describe(
      'Headers to add to every request: {X-Team: edge}. Secrets belong in `apiKeyEnv` or `apiKeyFile`.',
    ),
  connectMs: wholeNumber(10, day, 5_000).describe('How long connecting may take.'),
  firstByteMs: wholeNumber(10, day, 60_000).describe(
    'How long the first byte of a response may take. A chat response that is not streamed has its first byte at its end.',
  ),
  idleMs: wholeNumber(10, day, 60_000).describe('How long a response may pause once it has begun.'),
  totalMs: wholeNumber(10, day, 600_000).describe('How long a call may take in total.'),
  callsMax: wholeNumber(1, 10_000, 128).describe(
    'Concurrent calls, each on its own connection. Connections are reused.',
  ),
  callQueueMax: wholeNumber(0, 100_000, 256).describe(
    'Requests that may wait for a call to end. Further ones get 503 overloaded.',
  ),
  keepAliveMs: wholeNumber(1, 3_600_000, 4_000).describe(
    'How long an idle connection is kept for the next call, unless the server names a time. It must be shorter than the idle timeout of the server.',
  ),
  retriesMax: wholeNumber(0, 10, 2).describe(
    'Retries of a call that cannot have run: the connection failed before the request was sent.',
  ),
  retryStatuses: list(retryStatus, 'a list of 429 and 503').describe(
    'Statuses, of 429 and 503, after which the call is retried and the next engine of a model is tried. Default: none, the client gets them with their Retry-After.',
  ),
  breakerFailures: wholeNumber(1, 1_000, 5).describe(
    'After this many connection failures in a row, requests fail at once for `breakerOpenMs`. A response of any status is not a failure.',
  ),
  breakerOpenMs: wholeNumber(100, 3_600_000, 10_000).describe(
    'How long requests fail at once. Then one request tries the server again.',
  ),
  transcriptionFormat: oneOf(['verbose_json', 'json', 'diarized_json'], 'verbose_json').describe(
    'The format to request for transcription. `json` is for servers without timestamps: clients then cannot have `srt` and `vtt`. `diarized_json` is for models that identify speakers, such as gpt-4o-transcribe-diarize.',
  ),
  realtime: yesOrNo(false).describe(
    "Whether its `/realtime` speaks OpenAI's Realtime protocol for transcription. Live speech is then relayed while it is spoken; otherwise each turn is uploaded as a file when it ends.",
  ),
  realtimeFormat: oneOf(['pcm', 'pcmu', 'pcma'], 'pcm').describe(
    'The audio of that protocol: 16-bit PCM at 24 kHz (pcm), or G.711 at 8 kHz, mu-law (pcmu) or A-law (pcma).',
  ),
  outputLimit: optional(oneOf(['max_tokens', 'max_completion_tokens', 'both'])).describe(
    'The name under which it takes the limit of a chat answer: max_tokens, max_completion_tokens or both. Parley always sends one: what it holds credits for. Default: max_completion_tokens for the hosts of OpenAI and Azure, else max_tokens; a server that refuses it is asked again under the other name.',
  ),
  eventCharactersMax: wholeNumber(1_024, 1_073_741_824, 33_554_432).describe(
    'The longest event of a streamed chat answer, such as one with an image. A longer one ends the stream with an error.',
  ),
  parameters: parameters.describe('What you change in its chat requests.'),
  voices: voiceLanguages.describe(
    'Its voices, each with its language: {af_heart: en-US}. Default: the voices that the server lists.',
  ),
  voicesEveryMs: wholeNumber(1_000, day, 300_000).describe('How often its list of voices is read again.'),
}).describe(
  'Any server with the OpenAI API: hosted, vLLM, Ollama, llama.cpp, speaches, Kokoro-FastAPI, LocalAI and others. Times (…Ms) are in milliseconds.',
);

/** Without the settings for speech, transcription and the name of the limit. */
const { transcriptionFormat, realtime, realtimeFormat, outputLimit, voices, voicesEveryMs, ...shared } =
  openaiEngine.shape;

export const anthropicEngine = group({
  ...shared,
  ...engineOf('anthropic'),
  baseUrl: httpUrl.describe('Its URL with the version, such as https://api.anthropic.com/v1.'),
  version: text(/^[\w-]{1,64}$/, 'a version', '2023-06-01').describe(
    'The version of the API, as the header `anthropic-version` of each request.',
  ),
  betas: list(text(/^[\w.-]{1,100}$/, 'the name of a feature'), 'a list of names', 100).describe(
    'Values of the header `anthropic-beta` that clients may send. Others are left out.',
  ),
}).describe('Any server with the Messages API, for chat. Times (…Ms) are in milliseconds.');

const { shape } = openaiEngine;

function withDefault(setting: z.ZodDefault<z.ZodInt>, value: number) {
  return setting.removeDefault().default(value).describe(String(setting.description));
}

/** Another Parley: an openai engine that passes on codes, and waits as long as the other server may work. */
export const remoteEngine = group({
  ...shape,
  ...engineOf('remote'),
  baseUrl: httpUrl.describe('The base URL of the other Parley, such as https://gateway.example.com/api/v1.'),
  firstByteMs: withDefault(shape.firstByteMs, 600_000),
  callsMax: withDefault(shape.callsMax, 512),
  transcriptionFormat: shape.transcriptionFormat
    .removeDefault()
    .optional()
    .describe(String(shape.transcriptionFormat.description)),
  repeatLostCalls: yesOrNo(true).describe(
    'Whether a call whose connection is lost before the answer begins is made once more. The other Parley may charge its key for both; clients pay once.',
  ),
}).describe(
  'Another Parley, over the OpenAI API: it serves models that this one has not, or shares the work. Errors about the request of the client keep their codes. Times (…Ms) are in milliseconds.',
);
