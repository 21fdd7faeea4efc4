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
  id: name,
  transcription: optional(name),
  chat: name,
  speech: name,
  voice: optional(name),
});

/** @param recogniser the id of the transcription model */
export function defaultConversations(recogniser = 'pocketsphinx'): z.input<typeof conversation>[] {
  return [{ id: 'eliza-live', transcription: recogniser, chat: 'eliza', speech: 'flite' }];
}

const realtime = list(conversation, 'a list of conversations');

const smtp = group({
  host: text(/^[A-Za-z0-9.:_-]{1,255}$/, 'the name or address of a mail server'),
  port: optional(wholeNumber(1, 65_535)),
  tls: oneOf(['starttls', 'implicit', 'none'], 'starttls'),
  user: optional(text(/^[^\p{Cc}]{1,255}$/u, 'the name of a user')),
  passwordFile: optional(path()),
  from: text(isMailAddress, 'an address such as parley@example.com'),
  holdersMaySet: yesOrNo(false),
})
  .refine(({ user, passwordFile }) => (user === undefined) === (passwordFile === undefined), {
    path: ['passwordFile'],
    error: 'set exactly when `user` is set',
  })
  .refine(({ user, tls }) => user === undefined || tls !== 'none', {
    path: ['tls'],
    error: 'starttls or implicit with a `user`: without TLS, anyone on the way reads the password',
  })
  .optional();

const metrics = section({ access: oneOf(['off', 'key', 'open'], 'key') });

const ratioAllowed = 'a number from 0 to 1';

const tracing = section({
  endpoint: optional(text(/^https?:\/\/[^\s?#]+$/, 'a URL such as http://127.0.0.1:4318/v1/traces')),
  sampleRatio: z
    .number({ error: ratioAllowed })
    .min(0, { error: ratioAllowed })
    .max(1, { error: ratioAllowed })
    .default(1),
});

const log = section({ level: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], 'info') });

const alerts = section({
  allowedNetworks: list(network, 'a list of networks such as 10.0.0.0/8', 100),
  sealingKeyFile: optional(path()),
  smtp,
});

const mebibyte = 1_048_576;

const programs = section({
  memoryBytesMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)),
  llamaServer: optional(path()),
});

const guard = group({
  url: httpUrl,
  ...apiKeySettings,
  totalMs: wholeNumber(10, 60_000, 2_000),
  failure: oneOf(['closed', 'open'], 'closed'),
}).optional();

const retention = section({
  usageDays: optional(wholeNumber(1, 36_500)),
  auditDays: optional(wholeNumber(1, 36_500)),
  endUsers: yesOrNo(true),
});

const limits = section({
  // 4,000 characters, each written as an escaped surrogate pair of 12 bytes, must still fit.
  speechBodyBytesMax: wholeNumber(65_536, 64 * mebibyte, mebibyte),
  chatBodyBytesMax: wholeNumber(1024, 512 * mebibyte, 20 * mebibyte),
  rpcMessageBytesMax: wholeNumber(4_200_000, 512 * mebibyte, 20 * mebibyte),
  requestElementsMax: wholeNumber(1_000, 10_000_000, 100_000),
  bufferedBytesMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)),
  bufferedBytesPerAddressMax: optional(wholeNumber(mebibyte, 1_048_576 * mebibyte)),
  bufferWaitMsMax: wholeNumber(0, 600_000, 10_000),
  failedKeysPerMinuteMax: wholeNumber(0, 1_000_000, 20),
  keysPerAccountMax: wholeNumber(1, 1_000_000, 1_000),
  endUsersMax: wholeNumber(1, 100_000_000, 100_000),
  keptAnswerBytesPerAccountMax: wholeNumber(16 * mebibyte, 1_048_576 * mebibyte, 256 * mebibyte),
});

/** Far above use, and small enough that sums of units stay exact. */
const unitsMax = 1_000_000_000_000;
const fairUse = section({
  planUnitsPerMonth: wholeNumber(0, unitsMax, 1_500_000),
  trialUnitsPerMonth: wholeNumber(0, unitsMax, 300_000),
  speechUnitsPerCharacter: wholeNumber(1, 1_000_000, 1),
  transcriptionUnitsPerSecond: wholeNumber(1, 1_000_000, 15),
});

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
  dataDir: path('the path of a folder (in quotes if it is all digits)').default('./data'),
  store,
  adminKeyFile: optional(path()),
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
