/** Encodes messages for the wires. */
import { gzipSync } from 'node:zlib';

export const mebibyte = 1024 * 1024;
export const chatPath = '/parley.chat.v1.ChatService/CreateChatCompletion';
export const restChatPath = '/api/v1/chat/completions';

/** A message of gRPC or gRPC-Web: a flag, the length, the bytes. */
export function enveloped(message: Uint8Array, { gzip = false } = {}): Buffer {
  const bytes = gzip ? gzipSync(message) : message;
  const head = Buffer.alloc(5);
  head[0] = gzip ? 1 : 0;
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** A field with a length, in the encoding of protobuf. */
export function field(number: number, content: Uint8Array): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(content.length), content]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** Repeats the same bytes. */
export function repeated(part: Uint8Array | string, times: number): Buffer {
  const bytes = Buffer.from(part);
  return Buffer.alloc(bytes.length * times, bytes);
}
