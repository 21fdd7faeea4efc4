import * as z from 'zod';
import { engineKind } from './engine-kind.ts';
import { group, path, text, wholeNumber } from './setting-types.ts';
import { apiKeySettings, modelNames } from './upstream-engine.ts';

const day = 86_400_000;

export const remoteEngine = group({
  kind: engineKind('remote'),
  address: text(
    /^(?!https?:)\S+$/,
    'an address such as speech.example.com:8080, dns:///speech.example.com:8080 or ipv4:10.0.0.1:8080,10.0.0.2:8080',
  ).describe(
    'Its address: a name with its port, dns:///speech.example.com:8080, or a list such as ipv4:10.0.0.1:8080,10.0.0.2:8080. Requests take turns among several addresses.',
  ),
  ...apiKeySettings,
  models: modelNames,
  tls: z.boolean({ error: 'true or false' }).default(false).describe('Whether to encrypt the connection.'),
  tlsCa: path('the path of a file')
    .optional()
    .describe(
      'A PEM file of the certificate authorities to trust. Needs `tls: true`. Default: those of Node.js.',
    ),
  tlsName: text(/^\S+$/, 'the name of a host')
    .optional()
    .describe(
      'The host name in its certificate. Needs `tls: true`. Default: the host of `address`, or of its first address.',
    ),
  connectionsMax: wholeNumber(1, 1_000)
    .default(16)
    .describe(
      'Open connections to each address. Each carries 90 calls; when all are full, requests get 503 overloaded.',
    ),
  connectMs: wholeNumber(10, 600_000).default(5_000).describe('How long connecting may take.'),
  totalMs: wholeNumber(1_000, day).default(600_000).describe('How long a call may take in total.'),
  keepaliveMs: wholeNumber(1_000, 3_600_000)
    .default(30_000)
    .describe('The time between pings on a quiet connection.'),
  retriesMax: wholeNumber(0, 4)
    .default(2)
    .describe('Retries of a call that cannot have run: the connection failed before the request was sent.'),
  repeatLostCalls: z
    .boolean({ error: 'true or false' })
    .default(true)
    .describe(
      'Whether a call whose connection is lost before any output is made once more, on another address where there is one. The remote may charge its key for both; clients pay once.',
    ),
  catalogEveryMs: wholeNumber(1_000, day)
    .default(60_000)
    .describe('How often its models and voices are read again.'),
})
  .refine(({ tls, tlsCa }) => tls || tlsCa === undefined, { path: ['tls'], error: 'true with `tlsCa`' })
  .refine(({ tls, tlsName }) => tls || tlsName === undefined, { path: ['tls'], error: 'true with `tlsName`' })
  .describe(
    'Another Parley, over gRPC: it serves models that this one has not, or shares the work. Times (…Ms) are in milliseconds.',
  );
