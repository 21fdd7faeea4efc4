/** Encodes the messages of one stream. Chunks of a chat begin with the same members, which are encoded once. */
import { type DescMessage, isMessage, type Message, toBinary } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  StreamChatCompletionResponseSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';

/** Field 1, of variable length: the chunk of a response. */
const chunkTag = 0x0a;
const lengthBytesMax = 5;
/** A message whose fields are all named, so that none is forgotten when it is copied. */
type Whole<M> = { readonly [Name in keyof M]-?: M[Name] | undefined };

export function streamEncoder(output: DescMessage): (message: Message) => Buffer {
  const encodeChunk = chunkEncoder();
  return (message) =>
    isMessage(message, StreamChatCompletionResponseSchema) && message.chunk
      ? encodeChunk(message.chunk)
      : asBuffer(toBinary(output, message));
}

/** Encodes the response that has a chunk. The bytes of a message are those of its fields, in the order of their numbers. */
function chunkEncoder(): (chunk: ChatCompletionChunk) => Buffer {
  let last: ChatCompletionChunk | undefined;
  let head: Buffer = Buffer.alloc(0);
  return (chunk) => {
    if (last === undefined || !hasSameHead(chunk, last)) {
      const { $typeName, id, object, created, model } = chunk;
      head = asBuffer(
        toBinary(ChatCompletionChunkSchema, { $typeName, id, object, created, model, choices: [] }),
      );
    }
    last = chunk;
    const others = toBinary(ChatCompletionChunkSchema, withoutHead(chunk));
    return joined(head, others);
  };
}

function withoutHead(chunk: ChatCompletionChunk): ChatCompletionChunk {
  const { $typeName, $unknown, choices, usage, serviceTier, systemFingerprint, other } = chunk;
  const others = { $typeName, id: '', object: '', created: 0n, model: '', choices };
  return {
    ...others,
    usage,
    serviceTier,
    systemFingerprint,
    other,
    $unknown,
  } satisfies Whole<ChatCompletionChunk>;
}

/** The field of a response that has a chunk of these bytes: its tag and length, and the bytes. */
function joined(head: Uint8Array, others: Uint8Array): Buffer {
  const chunkBytes = head.length + others.length;
  const bytes = Buffer.allocUnsafe(1 + lengthBytesMax + chunkBytes);
  let at = bytes.writeUInt8(chunkTag);
  let rest = chunkBytes;
  // Seven bits a byte, the lowest first; the high bit says that more follow.
  for (; rest > 0x7f; rest >>>= 7) at = bytes.writeUInt8((rest & 0x7f) | 0x80, at);
  at = bytes.writeUInt8(rest, at);
  bytes.set(head, at);
  bytes.set(others, at + head.length);
  return bytes.subarray(0, at + chunkBytes);
}

function hasSameHead(chunk: ChatCompletionChunk, last: ChatCompletionChunk): boolean {
  return (
    chunk.id === last.id &&
    chunk.object === last.object &&
    chunk.created === last.created &&
    chunk.model === last.model
  );
}

/** A Buffer, as grpc-js requires, that shares its memory with the bytes. */
export function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
