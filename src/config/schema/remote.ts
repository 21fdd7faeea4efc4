import { z } from 'zod';
import { group, text, wholeNumber } from './setting.ts';
import { modelNames, secretSource } from './upstream.ts';

const path = text(/^[^\0]*\S[^\0]*$/, 'the path of a file');

export const remoteEngine = group({
  kind: z.literal('remote').describe('Another Parley, over gRPC.'),
  address: text(
    /^(?!https?:)\S+$/,
    'an address such as speech.example.com:8080, dns:///speech.example.com:8080 or ipv4:10.0.0.1:8080,10.0.0.2:8080',
  ).describe(
    'Where it is, as gRPC names it. Where a name has several addresses, or several are listed, requests take turns.',
  ),
  ...secretSource,
  models: modelNames,
  tls: z.boolean({ error: 'true or false' }).default(false).describe('Whether the connection is encrypted.'),
  tlsCa: path
    .optional()
    .describe('A PEM file of the authorities to trust. Default: those that Node trusts. Needs `tls: true`.'),
  tlsName: text(/^\S+$/, 'the name of a host')
    .optional()
    .describe(
      'The name that its certificate must have. Default: that of `address`, of several the first. Needs `tls: true`.',
    ),
  connectionsMax: wholeNumber(1, 1_000)
    .default(16)
    .describe(
      'Connections to each address that may be open at once. One carries 90 requests; where all have theirs, a request is answered with 503 overloaded.',
    ),
  connectMs: wholeNumber(10, 600_000)
    .default(5_000)
    .describe('How long a request waits for a connection, in milliseconds.'),
  totalMs: wholeNumber(1_000, 86_400_000)
    .default(600_000)
    .describe('How long one request may take in all, in milliseconds.'),
  keepaliveMs: wholeNumber(1_000, 3_600_000)
    .default(30_000)
    .describe('How often a connection that is quiet is asked whether it is still there, in milliseconds.'),
  retriesMax: wholeNumber(0, 4)
    .default(2)
    .describe(
      'How often a request is tried again that cannot have run, because the connection was lost or the server takes no more. Where it has been down before, requests fail at once.',
    ),
  catalogEveryMs: wholeNumber(1_000, 86_400_000)
    .default(60_000)
    .describe('How often its models and voices are read again, in milliseconds.'),
})
  .refine(({ tls, tlsCa }) => tls || tlsCa === undefined, {
    path: ['tls'],
    error: 'true where there is `tlsCa`',
  })
  .refine(({ tls, tlsName }) => tls || tlsName === undefined, {
    path: ['tls'],
    error: 'true where there is `tlsName`',
  })
  .describe('Another Parley over gRPC: it does what this one cannot, or many of them share the work.');
