/** The port: where it is, what protects it, and what clients may take of it. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { group, text, wholeNumber } from './setting.ts';

const hour = 3_600_000;
const mebibyte = 1_048_576;
const hostAllowed = 'an IP address or a host name, such as 127.0.0.1, 0.0.0.0 or ::1';
const hostName =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

const host = z
  .string({ error: hostAllowed })
  .refine((name) => isIP(name) !== 0 || hostName.test(name), { error: hostAllowed });

export const server = group({
  host: host
    .default('127.0.0.1')
    .describe(
      'The address to listen on. 127.0.0.1 takes calls from this machine only, 0.0.0.0 from everywhere.',
    ),
  port: wholeNumber(0, 65_535)
    .default(8080)
    .describe('The TCP port for everything: REST, Connect, gRPC and gRPC-Web. 0 takes any free port.'),
  unreadyMs: wholeNumber(0, hour)
    .default(0)
    .describe(
      'Milliseconds that the server goes on to take requests after it is told to stop, while GET /readyz says that it is not ready: time for load balancers to hear of it.',
    ),
  drainMs: wholeNumber(0, hour)
    .default(10_000)
    .describe('Milliseconds that running requests get to end when the server is told to stop.'),
  requestMsMax: wholeNumber(100, 24 * hour)
    .default(600_000)
    .describe('Milliseconds that one request may take in all. Then it ends with 503 overloaded.'),
  connectionsMax: wholeNumber(1, 1_000_000)
    .default(1024)
    .describe(
      'Connections that may be open at once on a port, whatever they speak. Further ones are closed at once. Keep it under half of the open files that the system allows.',
    ),
  headersMsMax: wholeNumber(100, hour)
    .default(10_000)
    .describe(
      'Milliseconds that a client may take for each step before a request is there: the TLS handshake, the first byte, the headers.',
    ),
  keepAliveMs: wholeNumber(1, hour)
    .default(5_000)
    .describe('Milliseconds that an HTTP/1 connection stays open between two requests.'),
  bodyMsMax: wholeNumber(100, hour)
    .default(124_000)
    .describe(
      'Milliseconds that a client may take to send a whole request. The default is a minute, and the 64 seconds that the largest upload for transcription, 4 MiB, takes at 64 KiB a second.',
    ),
  headerBytesMax: wholeNumber(1024, mebibyte)
    .default(16_384)
    .describe('Bytes that the headers of a request may have together.'),
  headerCountMax: wholeNumber(16, 2000).default(100).describe('Headers that a request may have.'),
  stallMsMax: wholeNumber(1000, hour)
    .default(30_000)
    .describe(
      'Milliseconds that a client may take nothing of an answer that waits for it. Then it is cut off.',
    ),
  streamsPerConnectionMax: wholeNumber(1, 10_000)
    .default(100)
    .describe('Requests that may run at once on one HTTP/2 connection.'),
  idleMs: wholeNumber(1000, 24 * hour)
    .default(60_000)
    .describe('Milliseconds that an HTTP/2 connection stays open without a request.'),
  pingEveryMs: wholeNumber(1000, 24 * hour)
    .default(10_000)
    .describe(
      'Milliseconds between the pings that find out whether an HTTP/2 client is still there, and does not send headers without an end.',
    ),
  pingTimeoutMs: wholeNumber(100, hour)
    .default(20_000)
    .describe('Milliseconds that an HTTP/2 client may take to answer a ping. Then it is cut off.'),
})
  .prefault({})
  .describe('The one port, and how long clients may take.');

const path = text(/^[^\0]*\S[^\0]*$/, 'the path of a file (in quotes where it is all digits)');

export const tls = group({
  cert: path
    .optional()
    .describe(
      'The file of the certificate in PEM, followed by those above it that clients need. It is read again when it changes.',
    ),
  key: path
    .optional()
    .describe('The file of its private key in PEM, unencrypted. It is read again when it changes.'),
})
  .refine(({ cert, key }) => cert === undefined || key !== undefined, {
    path: ['key'],
    error: 'the file of the private key of `tls.cert`',
  })
  .refine(({ cert, key }) => key === undefined || cert !== undefined, {
    path: ['cert'],
    error: 'the file of the certificate of `tls.key`',
  })
  .transform(({ cert, key }) => (cert === undefined || key === undefined ? undefined : { cert, key }))
  .prefault({})
  .describe('TLS 1.2 and 1.3 on every port, for all protocols. Without it they are in the clear.');

export const admin = group({
  host: host.optional().describe('The address for administration. Default: 127.0.0.1.'),
  port: wholeNumber(0, 65_535)
    .optional()
    .describe('The TCP port for administration. 0 takes any free port. Default: that of everything else.'),
})
  .refine(({ host, port }) => host === undefined || port !== undefined, {
    path: ['port'],
    error: 'the port for administration on `admin.host`',
  })
  .transform(({ host = '127.0.0.1', port }) => (port === undefined ? undefined : { host, port }))
  .prefault({})
  .describe(
    'A port of its own for administration: /api/v1/admin and parley.admin.v1 are served there and nowhere else.',
  );
