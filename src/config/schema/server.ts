/** The port: its address, its protection, and its limits for clients. */
import { isIP } from 'node:net';
import { group, list, network, oneOf, optional, path, section, text, wholeNumber } from './setting-types.ts';

const hour = 3_600_000;
const mebibyte = 1_048_576;
const hostName =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

const host = text(
  (name) => isIP(name) !== 0 || hostName.test(name),
  'an IP address or a host name, such as 127.0.0.1, 0.0.0.0 or ::1',
);

export const server = section({
  host: host.default('127.0.0.1'),
  port: wholeNumber(0, 65_535, 8080),
  unreadyMs: wholeNumber(0, hour, 0),
  drainMs: wholeNumber(0, hour, 10_000),
  requestMsMax: wholeNumber(100, 24 * hour, 600_000),
  connectionsMax: wholeNumber(1, 1_000_000, 1024),
  connectionsPerAddressMax: wholeNumber(1, 1_000_000, 512),
  trustedProxies: list(network, 'a list of addresses and networks such as 127.0.0.1, ::1 or 10.0.0.0/8'),
  proxyHeader: oneOf(['x-forwarded-for', 'forwarded'], 'x-forwarded-for'),
  headersMsMax: wholeNumber(100, hour, 10_000),
  keepAliveMs: wholeNumber(1, hour, 75_000),
  bodyMsMax: wholeNumber(100, hour, 124_000),
  headerBytesMax: wholeNumber(1024, mebibyte, 16_384),
  headerCountMax: wholeNumber(16, 2000, 100),
  streamPingMs: wholeNumber(10, hour, 10_000),
  stallMsMax: wholeNumber(1000, hour, 30_000),
  streamsPerConnectionMax: wholeNumber(1, 10_000, 100),
  sessionBytesMax: wholeNumber(mebibyte, 1024 * mebibyte, 10 * mebibyte),
  idleMs: wholeNumber(1000, 24 * hour, 60_000),
  pingEveryMs: wholeNumber(1000, 24 * hour, 10_000),
  pingTimeoutMs: wholeNumber(100, hour, 20_000),
});

export const tls = group({ cert: optional(path()), key: optional(path()) })
  .refine(({ cert, key }) => cert === undefined || key !== undefined, {
    path: ['key'],
    error: 'the file of the private key of `tls.cert`',
  })
  .refine(({ cert, key }) => key === undefined || cert !== undefined, {
    path: ['cert'],
    error: 'the file of the certificate of `tls.key`',
  })
  .transform(({ cert, key }) => (cert === undefined || key === undefined ? undefined : { cert, key }))
  .prefault({});

export const admin = group({ host: optional(host), port: optional(wholeNumber(0, 65_535)) })
  .refine(({ host, port }) => host === undefined || port !== undefined, {
    path: ['port'],
    error: 'the port for administration on `admin.host`',
  })
  .transform(({ host = '127.0.0.1', port }) => (port === undefined ? undefined : { host, port }))
  .prefault({});

export const docs = section({ access: oneOf(['off', 'open'], 'open') });

export const console = section({ access: oneOf(['off', 'open'], 'open') });

export const voices = section({ access: oneOf(['key', 'open'], 'key') });

export const cors = section({
  origins: list(
    text(/^(\*|https?:\/\/[^\s/?#]+)$/, 'an origin such as https://app.example.com, or "*"'),
    'a list of origins such as https://app.example.com',
  ),
});
