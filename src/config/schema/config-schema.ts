import * as z from 'zod';
import { isMailAddress } from '../../core/values/bounds.ts';
import { engines } from './engines.ts';
import { models, name } from './models.ts';
import { oidc } from './oidc.ts';
import { admin, console, cors, docs, server, tls, voices } from './server.ts';
import {
  group,
  list,
  network,
  oneOf,
  optional,
  path,
  section,
  text,
  wholeNumber,
  yesOrNo,
} from './setting-types.ts';
import { store } from './store.ts';
import { apiKeySettings, httpUrl } from './upstream-engine.ts';

const conversation = group({
  id: name.describe('The id that clients send as `model` to /api/v1/realtime. You choose it.'),
  transcription: optional(name).describe(
    'The id of the transcription model: the active one, or that with `liveOnly`. Default: the one there is.',
  ),
  chat: name.describe('The id of the chat model that answers.'),
  speech: name.describe('The id of the speech model that speaks the answers.'),
  voice: optional(name).describe(
    'The voice, unless the client names one. Default: the one of the speech model.',
  ),
}).describe('A conversation: speech is transcribed, answered by a chat, and the answer is spoken.');

/** @param recogniser the id of the transcription model */
export function defaultConversations(recogniser = 'pocketsphinx'): z.input<typeof conversation>[] {
  return [{ id: 'eliza-live', transcription: recogniser, chat: 'eliza', speech: 'flite' }];
}

const realtime = list(conversation, 'a list of conversations').describe(
  'Conversations: models that clients can talk to. Default: one of the default models, else none.',
);

const addressAllowed = 'an address such as parley@example.com';

const smtp = group({
  host: text(/^[A-Za-z0-9.:_-]{1,255}$/, 'the name or address of a mail server').describe(
    'The name or address of the mail server.',
  ),
  port: optional(wholeNumber(1, 65_535)).describe(
    'Its port. Default: 587 for starttls, 465 for implicit, 25 for none.',
  ),
  tls: oneOf(['starttls', 'implicit', 'none'], 'starttls').describe(
    'The encryption: starttls and implicit need a valid certificate of the host, and none is for a server in the same trusted network.',
  ),
  user: optional(text(/^[^\p{Cc}]{1,255}$/u, 'the name of a user')).describe(
    'The user who logs in. Default: no login.',
  ),
  passwordFile: optional(path()).describe('A file with the password of the user.'),
  from: z
    .string({ error: addressAllowed })
    .refine(isMailAddress, { error: addressAllowed })
    .describe('The address of the sender.'),
  holdersMaySet: yesOrNo(false).describe(
    'Whether a key of an account with the scope `manage` may set the addresses of its mails. Otherwise only operators may, so that nobody sends mail to strangers through this server.',
  ),
})
  .refine(({ user, passwordFile }) => (user === undefined) === (passwordFile === undefined), {
    path: ['passwordFile'],
    error: 'set exactly when `user` is set',
  })
  .refine(({ user, tls }) => user === undefined || tls !== 'none', {
    path: ['tls'],
    error: 'starttls or implicit with a `user`: without TLS, anyone on the way reads the password',
  })
  .optional()
  .describe('The mail server for alerts by mail. Default: none, and no alerts are mailed.');

const metrics = section(
  'Metrics for Prometheus at GET /metrics, on the port for administration if there is one.',
  {
    access: oneOf(['off', 'key', 'open'], 'key').describe(
      'Who may read the metrics: nobody (off), holders of an admin key (key), or everybody (open).',
    ),
  },
);

const ratioAllowed = 'a number from 0 to 1';

const tracing = section(
  'OpenTelemetry traces: one span a request. It continues the trace of the client and is sent to upstreams.',
  {
    endpoint: optional(
      text(/^https?:\/\/[^\s?#]+$/, 'a URL such as http://127.0.0.1:4318/v1/traces'),
    ).describe(
      'Where to send traces by OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. Default: no traces.',
    ),
    sampleRatio: z
      .number({ error: ratioAllowed })
      .min(0, { error: ratioAllowed })
      .max(1, { error: ratioAllowed })
      .default(1)
      .describe(
        'The share of traces to keep, from 0 to 1. For a trace that a client began, the client decides.',
      ),
  },
);

const log = section('The log: JSON lines on standard error.', {
  level: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info').describe(
    'The lowest level to log: trace, debug, info, warn, error or fatal. `silent` logs nothing.',
  ),
});

const alerts = section('Alerts of accounts, by webhook, mail, Slack or Matrix.', {
  allowedNetworks: list(network, 'a list of networks such as 10.0.0.0/8', 100).describe(
    'Networks into which webhooks, Slack and Matrix may lead although they are not public, such as 10.0.0.0/8. Plain HTTP is allowed into these only. Default: none.',
  ),
  sealingKeyFile: optional(path()).describe(
    'A file with at least 32 characters, with which the secrets of webhooks, Slack and Matrix are sealed in the database. All servers of one database need the same. Default: they are not sealed.',
  ),
  smtp,
});

const mebibyte = 1_048_576;

const programs = section('The programs of all engines of the kinds `process` and `local`.', {
  memoryBytesMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)).describe(
    'Memory for all programs together, in bytes. For a program that has requests, others that have none are ended, the least recently used first. Default: three quarters of the memory of the machine or its cgroup.',
  ),
  llamaServer: optional(path()).describe(
    'The program llama-server, for engines of the kind `local`. Default: the one that `parley runtimes install` put into the data folder, else the one in PATH.',
  ),
});

const guard = group({
  url: httpUrl.describe('Its URL, such as http://127.0.0.1:9000/check. Each chat is posted to it as JSON.'),
  ...apiKeySettings,
  totalMs: wholeNumber(10, 60_000, 2_000).describe('How long a check may take, in milliseconds.'),
  failure: oneOf(['closed', 'open'], 'closed').describe(
    'What happens if the guard does not answer in time and as documented: a chat gets 503 guard_unavailable (closed), or runs (open).',
  ),
})
  .optional()
  .describe(
    "The operator's own program, which is asked before each chat and may refuse it with a reason. Default: none, nothing is called.",
  );

const retention = section('What records keep, and how long.', {
  usageDays: optional(wholeNumber(1, 36_500)).describe(
    'Days to keep usage records. Older ones are removed daily; their totals stay. Default: forever.',
  ),
  auditDays: optional(wholeNumber(1, 36_500)).describe(
    'Days to keep audit entries. Older ones are removed daily. Default: forever.',
  ),
  endUsers: yesOrNo(true).describe(
    'Whether usage records keep the end users and the tags that clients name. Budgets of end users work without them.',
  ),
});

const limits = section(
  'Limits of requests. A request that is too large gets 413, in gRPC RESOURCE_EXHAUSTED. The interface fixes two limits: 4 MiB for transcription, and 4,000 characters of input for speech.',
  {
    // 4,000 characters, each written as an escaped surrogate pair of 12 bytes, must still fit.
    speechBodyBytesMax: wholeNumber(65_536, 64 * mebibyte, mebibyte).describe(
      'The largest speech request, in bytes.',
    ),
    chatBodyBytesMax: wholeNumber(1024, 512 * mebibyte, 20 * mebibyte).describe(
      'The largest chat request, images included, in bytes.',
    ),
    rpcMessageBytesMax: wholeNumber(4_200_000, 512 * mebibyte, 20 * mebibyte).describe(
      'The largest gRPC, Connect or gRPC-Web message after decompression, in bytes.',
    ),
    requestElementsMax: wholeNumber(1_000, 10_000_000, 100_000).describe(
      'Elements of a speech or chat request: members of objects and of arrays in JSON, messages and elements of lists in protobuf, at every depth. A conversation of 10,000 messages with tool calls has some 80,000. More get 400. 100,000 take some 100 milliseconds of the one thread that serves all requests.',
    ),
    bufferedBytesMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)).describe(
      'Bytes of request bodies in memory, of all requests with a valid key together. Further ones are not read until others end. Default: a quarter of the memory that the process may use, at least 64 MiB.',
    ),
    bufferedBytesPerAddressMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)).describe(
      'Those of one address (of one /64 for IPv6). Default: a quarter of `bufferedBytesMax`, at least 64 MiB.',
    ),
    bufferWaitMsMax: wholeNumber(0, 600_000, 10_000).describe(
      'How long a request waits until its body may be read. Then it ends with 503 overloaded.',
    ),
    failedKeysPerMinuteMax: wholeNumber(0, 1_000_000, 20).describe(
      'Requests without a valid key from one address in a minute. Further ones get 429; requests with a valid key are not affected. 0 sets no limit.',
    ),
    keysPerAccountMax: wholeNumber(1, 1_000_000, 1_000).describe(
      'Keys of an account that are neither revoked nor expired. Further ones get 400 too_many_keys.',
    ),
    endUsersMax: wholeNumber(1, 100_000_000, 100_000).describe(
      'End users of a key or an account with `per_end_user` that have a budget in the same day or month. The first chat of a further one gets 429 rate_limit_exceeded.',
    ),
    keptAnswerBytesPerAccountMax: wholeNumber(16 * mebibyte, 1_048_576 * mebibyte, 256 * mebibyte).describe(
      'Bytes of answers that are kept for an account to repeat them under their Idempotency-Key, 4 KiB more for each. Beyond them the oldest are removed before their 24 hours are over: a request that is repeated then runs again.',
    ),
  },
);

/** Far above use, and small enough that sums of units stay exact. */
const unitsMax = 1_000_000_000_000;
const fairUse = section(
  'The speech and transcription that is included each month (UTC), counted together in units.',
  {
    planUnitsPerMonth: wholeNumber(0, unitsMax, 1_500_000).describe('Units for an account on the paid plan.'),
    trialUnitsPerMonth: wholeNumber(0, unitsMax, 300_000).describe('Units for an account on trial.'),
    speechUnitsPerCharacter: wholeNumber(1, 1_000_000, 1).describe(
      'Units for each character (Unicode code point) of speech input.',
    ),
    transcriptionUnitsPerSecond: wholeNumber(1, 1_000_000, 15).describe(
      'Units for each second of transcribed audio.',
    ),
  },
);

/** All settings. Unknown names are refused. */
export const configSchema = group({
  server,
  tls,
  admin,
  metrics,
  tracing,
  retention,
  cors,
  docs,
  console,
  oidc,
  voices,
  limits,
  dataDir: path('the path of a folder (in quotes if it is all digits)')
    .default('./data')
    .describe(
      'The folder of the SQLite database. A relative path starts in the working directory of Parley.',
    ),
  store,
  adminKeyFile: optional(path()).describe(
    'A file with an admin key of at least 32 characters, which this server accepts besides those of its database. PARLEY_ADMIN_KEY in its environment does the same. Default: none.',
  ),
  fairUse,
  alerts,
  log,
  programs,
  engines,
  models,
  realtime,
  guard,
}).refine(
  ({ server: { host, port }, admin: other }) => other?.host !== host || other.port !== port || port === 0,
  { path: ['admin', 'port'], error: 'another port than `server.port`' },
);

/** The JSON Schema of the settings. Draft 7 is the version that YAML language servers read. */
export const settingsJsonSchema = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' });

/** The text of parley.schema.json, with which editors complete and check parley.yaml. */
export function configJsonSchema(): string {
  const schema = { title: 'The configuration of Parley (parley.yaml)', ...settingsJsonSchema };
  return `${JSON.stringify(schema, null, 2)}\n`;
}
