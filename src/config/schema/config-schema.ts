import { z } from 'zod';
import { engines } from './engines.ts';
import { models } from './models.ts';
import { cors, metrics, retention, tracing } from './operations.ts';
import { admin, server, tls } from './server.ts';
import { group, oneOf, text, wholeNumber } from './setting.ts';

const mebibyte = 1_048_576;

const limits = group({
  // 4,000 characters, each written as an escaped surrogate pair of 12 bytes, must still fit.
  speechBodyBytesMax: wholeNumber(65_536, 64 * mebibyte)
    .default(mebibyte)
    .describe('Bytes that the body of a speech request may have. A larger one is answered with 413.'),
  chatBodyBytesMax: wholeNumber(1024, 512 * mebibyte)
    .default(20 * mebibyte)
    .describe(
      'Bytes that the body of a chat request may have, images included. A larger one is answered with 413.',
    ),
  rpcMessageBytesMax: wholeNumber(4_200_000, 512 * mebibyte)
    .default(20 * mebibyte)
    .describe('Bytes that a message of gRPC, Connect or gRPC-Web may have after it is unpacked.'),
  failedKeysPerMinuteMax: wholeNumber(0, 1_000_000)
    .default(20)
    .describe(
      'Requests without a valid key that an address may send in a minute. Further ones are answered with 429; valid keys are served all the same. 0 is no limit.',
    ),
})
  .prefault({})
  .describe(
    'Sizes of request bodies, and failed keys. The sizes of the contract are fixed: 4 MiB for transcription, 4,000 characters for speech.',
  );

/** Far beyond use, and small enough that sums of units stay exact. */
const unitsMax = 1_000_000_000_000;
const fairUse = group({
  planUnitsPerMonth: wholeNumber(0, unitsMax)
    .default(1_500_000)
    .describe('Units that an account on the paid plan may use in a month (UTC).'),
  trialUnitsPerMonth: wholeNumber(0, unitsMax)
    .default(300_000)
    .describe('Units that an account on trial may use in a month (UTC).'),
  speechUnitsPerCharacter: wholeNumber(1, 1_000_000)
    .default(1)
    .describe('Units for each character (Unicode code point) of speech input.'),
  transcriptionUnitsPerSecond: wholeNumber(1, 1_000_000)
    .default(15)
    .describe('Units for each second of audio that is transcribed.'),
})
  .prefault({})
  .describe('How much speech and transcription is included a month, counted in units over both.');

const log = group({
  level: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('How much is logged: this level and those after it. `silent` logs nothing.'),
})
  .prefault({})
  .describe('The log, in JSON lines on standard error.');

/** Everything that can be configured. Unknown names are refused. */
export const configSchema = z
  .strictObject(
    {
      server,
      tls,
      admin,
      metrics,
      tracing,
      retention,
      cors,
      limits,
      dataDir: text(/^[^\0]*\S[^\0]*$/, 'the path of a folder (in quotes where it is all digits)')
        .default('./data')
        .describe(
          'The folder of the database. A relative path starts in the folder that Parley is started in.',
        ),
      fairUse,
      log,
      engines,
      models,
    },
    { error: 'a map of settings' },
  )
  .refine(
    ({ server: { host, port }, admin: other }) => other?.host !== host || other.port !== port || port === 0,
    {
      path: ['admin', 'port'],
      error: 'another port than `server.port`',
    },
  );
