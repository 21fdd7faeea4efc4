import { gzipSync } from 'node:zlib';
import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { chatPath, enveloped, field, mebibyte, repeated, restChatPath } from '../harness/messages.ts';
import type { Sent, Target } from '../harness/target.ts';

const gzip = { 'content-encoding': 'gzip' };
const grpcGzip = { 'grpc-encoding': 'gzip' };
const json = { 'content-type': 'application/json' };
const proto = { 'content-type': 'application/proto' };
const unauthenticated = 16;
const atOnce = 16;

/** Ten million empty submessages: 20 MB, which gzip compresses to 20 KB. */
export const emptyMessages = () => field(1, repeated(Uint8Array.of(0x12, 0), 9_900_000));
export const emptyObjects = () => `{"model":"eliza","messages":[${'{},'.repeat(6_000_000)}{}]}`;
export const nested = (levels: number) =>
  `{"model":"eliza","messages":${'['.repeat(levels)}${']'.repeat(levels)}}`;

/** Sends the same request this many times at once. */
function stranger(name: string, sent: () => Sent, status: number, wire: 'send' | 'grpc' = 'send'): Attack {
  return {
    name,
    by: 'stranger',
    connections: atOnce,
    async play(target: Target) {
      const request = sent();
      const answers = await Promise.all(Array.from({ length: atOnce }, () => target[wire](request)));
      for (const answer of answers) expectStatus(answer, status);
    },
  };
}

export const bodiesWithoutKey: AttackClass = {
  title: 'Bodies without a key',
  attacks: [
    stranger(
      'gRPC: gzip of ten million empty submessages',
      () => ({ path: chatPath, headers: grpcGzip, body: enveloped(emptyMessages(), { gzip: true }) }),
      unauthenticated,
      'grpc',
    ),
    stranger(
      'Connect: gzip of ten million empty submessages',
      () => ({ path: chatPath, headers: { ...proto, ...gzip }, body: gzipSync(emptyMessages()) }),
      401,
    ),
    stranger(
      'Connect: gzip of 18 MB of `{},`',
      () => ({
        path: chatPath,
        headers: { ...json, ...gzip },
        body: gzipSync(`{"params":${emptyObjects()}}`),
      }),
      401,
    ),
    stranger(
      'Connect: JSON nested a million levels',
      () => ({ path: chatPath, headers: json, body: nested(1_000_000) }),
      401,
    ),
    stranger(
      'gRPC-Web: gzip of ten million empty submessages',
      () => ({
        path: chatPath,
        headers: { 'content-type': 'application/grpc-web+proto', ...grpcGzip },
        body: enveloped(emptyMessages(), { gzip: true }),
      }),
      200,
    ),
    stranger('REST: 20 MB of `{},`', () => ({ path: restChatPath, body: emptyObjects() }), 401),
    stranger(
      'REST: a key that is none, and 20 MB',
      () => ({ path: restChatPath, body: Buffer.alloc(20 * mebibyte, 'x'), key: 'pk_nobody' }),
      401,
    ),
  ],
};
