/** The port: its address, its protection, and its limits for clients. */
import { isIP } from 'node:net';
import * as z from 'zod';
import { group, list, network, oneOf, optional, path, section, text, wholeNumber } from './setting-types.ts';

const hour = 3_600_000;
const mebibyte = 1_048_576;
const hostAllowed = 'an IP address or a host name, such as 127.0.0.1, 0.0.0.0 or ::1';
const hostName =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/;

const host = z
  .string({ error: hostAllowed })
  .refine((name) => isIP(name) !== 0 || hostName.test(name), { error: hostAllowed });

export const server = section('The port, and its limits for clients. Times (…Ms) are in milliseconds.', {
  host: host
    .default('127.0.0.1')
    .describe('The address to listen on. 127.0.0.1 accepts calls from this machine only, 0.0.0.0 from any.'),
  port: wholeNumber(0, 65_535, 8080).describe(
    'The TCP port for REST, Connect, gRPC and gRPC-Web. 0 chooses a free port.',
  ),
  unreadyMs: wholeNumber(0, hour, 0).describe(
    'How long a stopping server still accepts requests while GET /readyz answers 503, so that load balancers notice.',
  ),
  drainMs: wholeNumber(0, hour, 10_000).describe(
    'How long a stopping server waits for running requests to end.',
  ),
  requestMsMax: wholeNumber(100, 24 * hour, 600_000).describe(
    'How long a request may take in total. Then it ends with 503 overloaded, or whole if it is a stream of a chat with output.',
  ),
  connectionsMax: wholeNumber(1, 1_000_000, 1024).describe(
    'Open connections on a port, of all protocols together. For a further one, the connection closes that has been without a valid key for the longest time; if all have had one, the new one closes. Keep this below half of the limit of open files.',
  ),
  connectionsPerAddressMax: wholeNumber(1, 1_000_000, 512).describe(
    'Those of one address (of one /64 for IPv6), which make room for each other in the same way. Trusted proxies have no such limit.',
  ),
  trustedProxies: list(
    network,
    'a list of addresses and networks such as 127.0.0.1, ::1 or 10.0.0.0/8',
  ).describe(
    'Addresses and networks of your reverse proxies, such as 127.0.0.1 or 10.0.0.0/8. The address of a client is then the one that the proxy names, for every limit by address. Default: none, since anyone could name any address.',
  ),
  proxyHeader: oneOf(['x-forwarded-for', 'forwarded'], 'x-forwarded-for').describe(
    'The header in which trusted proxies name the client. It is read from the right. Any other is ignored.',
  ),
  headersMsMax: wholeNumber(100, hour, 10_000).describe(
    'How long a client may take for each of the TLS handshake, the first byte and the headers of a request.',
  ),
  keepAliveMs: wholeNumber(1, hour, 75_000).describe(
    'How long an HTTP/1 connection stays open between requests. Proxies before this server must close idle ones earlier.',
  ),
  bodyMsMax: wholeNumber(100, hour, 124_000).describe(
    'How long a client may take to send a whole request. The default is one minute plus the 64 seconds that the largest upload for transcription (4 MiB) takes at 64 KiB a second.',
  ),
  headerBytesMax: wholeNumber(1024, mebibyte, 16_384).describe(
    'The largest size of the headers of a request together, in bytes.',
  ),
  headerCountMax: wholeNumber(16, 2000, 100).describe('The largest number of headers of a request.'),
  streamPingMs: wholeNumber(10, hour, 10_000).describe(
    'How often the stream of a chat that waits for its model says that it lives: by a comment, on POST /messages by the event ping. Its headers leave after 2 seconds at the latest; an error after that is an event of the stream. Proxies must allow longer pauses than this.',
  ),
  stallMsMax: wholeNumber(1000, hour, 30_000).describe(
    'How long a client may stop reading a response. Then its connection is closed.',
  ),
  streamsPerConnectionMax: wholeNumber(1, 10_000, 100).describe(
    'Concurrent requests on an HTTP/2 connection. gRPC always uses HTTP/2.',
  ),
  sessionBytesMax: wholeNumber(mebibyte, 1024 * mebibyte, 10 * mebibyte).describe(
    'Bytes that an HTTP/2 connection may keep for headers, its streams and what waits to be sent. Beyond it new requests are refused on it.',
  ),
  idleMs: wholeNumber(1000, 24 * hour, 60_000).describe(
    'How long an HTTP/2 connection stays open without requests.',
  ),
  pingEveryMs: wholeNumber(1000, 24 * hour, 10_000).describe(
    'The time between HTTP/2 pings. They detect clients that are gone, and clients that never finish their headers.',
  ),
  pingTimeoutMs: wholeNumber(100, hour, 20_000).describe(
    'How long a client may take to answer a ping. Then its connection is closed.',
  ),
});

export const tls = group({
  cert: optional(path()).describe(
    'The PEM file of the certificate, followed by the intermediate certificates. Parley reads it again when it changes.',
  ),
  key: optional(path()).describe(
    'The PEM file of the unencrypted private key. Parley reads it again when it changes.',
  ),
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
  .describe('TLS 1.2 and 1.3 for all protocols on every port. Default: no encryption.');

export const admin = group({
  host: optional(host).describe('The address for administration. Default: 127.0.0.1.'),
  port: optional(wholeNumber(0, 65_535)).describe(
    'The TCP port for administration. 0 chooses a free port. Default: `server.port`.',
  ),
})
  .refine(({ host, port }) => host === undefined || port !== undefined, {
    path: ['port'],
    error: 'the port for administration on `admin.host`',
  })
  .transform(({ host = '127.0.0.1', port }) => (port === undefined ? undefined : { host, port }))
  .prefault({})
  .describe('A separate port for administration: only it serves /api/v1/admin and parley.admin.v1.');

export const docs = section(
  'The reference of the API and the guides: the pages under /docs with the schemas, and the OpenAPI document at GET /api/v1/openapi.json.',
  {
    access: oneOf(['off', 'open'], 'open').describe(
      'Who may read it: nobody (off), or everybody without a key (open).',
    ),
  },
);

export const console = section(
  'The console at /console: pages for holders of API keys and, with an admin key, for operators. Signing in exchanges the key for a cookie of at most 12 hours.',
  {
    access: oneOf(['off', 'open'], 'open').describe(
      'Who may open it: nobody (off), or everybody who has a key (open).',
    ),
  },
);

export const voices = section(
  "The lists of voices and of speech models at GET /audio/voices and GET /audio/models, and in Riva's GetRivaSynthesisConfig.",
  {
    access: oneOf(['key', 'open'], 'key').describe(
      'Who may read them: holders of an API key (key), or everybody (open), for programs that send no key there.',
    ),
  },
);

export const cors = section('Calls from pages in browsers.', {
  origins: list(
    text(/^(\*|https?:\/\/[^\s/?#]+)$/, 'an origin such as https://app.example.com, or "*"'),
    'a list of origins such as https://app.example.com',
  ).describe(
    'Origins whose pages may call this server, such as https://app.example.com, or "*" for all. Default: none.',
  ),
});
