import type { Attack, AttackClass } from '../attack.ts';
import { expectStatus } from '../harness/expected.ts';
import { chatPath, enveloped, field } from '../harness/messages.ts';
import type { Sent } from '../harness/target.ts';

const [invalidArgument, deadlineExceeded, resourceExhausted, unimplemented] = [3, 4, 8, 12];
const chat = enveloped(
  field(
    1,
    Buffer.concat([
      field(1, Buffer.from('eliza')),
      field(2, Buffer.concat([field(1, Buffer.from('user')), field(2, Buffer.from('Hi.'))])),
    ]),
  ),
);

function call(name: string, sent: Omit<Sent, 'path'>, ...statuses: readonly number[]): Attack {
  return {
    name,
    by: 'customer',
    play: async (target) =>
      expectStatus(await target.grpc({ path: chatPath, key: target.server.apiKey, ...sent }), ...statuses),
  };
}

const timeout = (text: string) =>
  call(
    `grpc-timeout: ${text.slice(0, 20)}`,
    { body: chat, headers: { 'grpc-timeout': text } },
    invalidArgument,
  );

export const grpcErrors: AttackClass = {
  title: 'gRPC: framing and deadlines, with a key',
  attacks: [
    call('bytes that are not protobuf', { body: enveloped(Buffer.alloc(10, 0xff)) }, invalidArgument),
    call('a field that ends too soon', { body: enveloped(Buffer.from([0x0a, 0x7f, 0x01])) }, invalidArgument),
    call('a length of 4 GiB', { body: Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]) }, resourceExhausted),
    call(
      'compressed without an encoding',
      { body: enveloped(chat, { gzip: true }) },
      invalidArgument,
      unimplemented,
      13,
    ),
    call(
      'gzip that is none',
      { body: Buffer.from([1, 0, 0, 0, 3, 1, 2, 3]), headers: { 'grpc-encoding': 'gzip' } },
      invalidArgument,
      13,
    ),
    call(
      'an unknown encoding',
      { body: enveloped(chat), headers: { 'grpc-encoding': 'cow' } },
      unimplemented,
    ),
    call(
      'a flag of 7',
      { body: Buffer.concat([Buffer.from([7]), chat.subarray(1)]) },
      invalidArgument,
      unimplemented,
      13,
    ),
    call('two messages', { body: Buffer.concat([chat, chat]) }, invalidArgument, unimplemented, 13),
    call('no message', { body: Buffer.alloc(0) }, invalidArgument, unimplemented, 13),
    timeout('-1S'),
    timeout('1x'),
    timeout('S'),
    timeout('1'),
    timeout('999999999S'),
    timeout('1e9S'),
    timeout('0x1S'),
    call('grpc-timeout: 0n', { body: chat, headers: { 'grpc-timeout': '0n' } }, deadlineExceeded),
  ],
};
