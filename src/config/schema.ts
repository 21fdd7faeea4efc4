import { isIP } from 'node:net';
import { z } from 'zod';
import { engines } from './engine-settings.ts';
import { models } from './model-settings.ts';
import { group, oneOf, text, wholeNumber } from './setting.ts';

const hour = 3_600_000;
const mebibyte = 1_048_576;
const hostAllowed = 'an IP address or a host name, such as 127.0.0.1, 0.0.0.0 or ::1';
const hostName =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

const server = group({
  host: z
    .string({ error: hostAllowed })
    .refine((host) => isIP(host) !== 0 || hostName.test(host), { error: hostAllowed })
    .default('127.0.0.1')
    .describe(
      'The address to listen on. 127.0.0.1 takes calls from this machine only, 0.0.0.0 from everywhere.',
    ),
  port: wholeNumber(0, 65_535)
    .default(8080)
    .describe('The TCP port for everything: REST, Connect, gRPC and gRPC-Web. 0 takes any free port.'),
  drainMs: wholeNumber(0, hour)
    .default(10_000)
    .describe('Milliseconds that running requests get to end when the server is told to stop.'),
  requestMsMax: wholeNumber(100, 24 * hour)
    .default(600_000)
    .describe('Milliseconds that one request may take in all. Then it ends with 503 overloaded.'),
  connectionsMax: wholeNumber(1, 1_000_000)
    .default(1024)
    .describe(
      'Connections that may be open at once. Keep it under half of the open files that the system allows.',
    ),
  headersMsMax: wholeNumber(100, hour)
    .default(10_000)
    .describe('Milliseconds that a client may take to send the headers of a request.'),
  keepAliveMs: wholeNumber(1, hour)
    .default(5_000)
    .describe('Milliseconds that a connection stays open without a request.'),
  bodyMsMax: wholeNumber(100, hour)
    .default(124_000)
    .describe(
      'Milliseconds that a client may take to send a whole request. The default is a minute, and the 64 seconds that the largest upload for transcription, 4 MiB, takes at 64 KiB a second.',
    ),
  headerBytesMax: wholeNumber(1024, mebibyte)
    .default(16_384)
    .describe('Bytes that the headers of a request may have together.'),
  streamsPerConnectionMax: wholeNumber(1, 10_000)
    .default(100)
    .describe('Requests that may run at once on one HTTP/2 connection.'),
  idleMs: wholeNumber(1000, 24 * hour)
    .default(60_000)
    .describe('Milliseconds that an HTTP/2 connection stays open without a request.'),
  pingEveryMs: wholeNumber(1000, 24 * hour)
    .default(30_000)
    .describe('Milliseconds between the pings that find out whether an HTTP/2 client is still there.'),
  pingTimeoutMs: wholeNumber(100, hour)
    .default(10_000)
    .describe('Milliseconds that an HTTP/2 client may take to answer a ping.'),
})
  .prefault({})
  .describe('The one port, and how long clients may take.');

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
})
  .prefault({})
  .describe(
    'Sizes of request bodies. Those of the contract are fixed: 4 MiB for transcription, 4,000 characters for speech.',
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
export const configSchema = z.strictObject(
  {
    server,
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
);
