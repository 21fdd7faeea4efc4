/** The messages of a stream have the bytes that protobuf gives each. */
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  ChatCompletionChunkSchema,
  StreamChatCompletionResponseSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { streamEncoder } from '../../../src/transports/grpc/stream-bytes.ts';

const head = { id: 'a', object: 'chat.completion.chunk', created: 1_700_000_000n, model: 'm' };
const saying = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });

const chunks: readonly MessageInitShape<typeof ChatCompletionChunkSchema>[] = [
  { ...head, ...saying('one') },
  { ...head, ...saying('two') },
  { ...head, created: 1_700_000_001n, ...saying('later') },
  { ...head, id: 'b', ...saying('another answer') },
  { ...head, model: '', ...saying('no model') },
  { ...head, object: '', ...saying('no object') },
  { ...head, ...saying('x'.repeat(130)) },
  { ...head, ...saying('é'.repeat(20_000)) },
  { ...head, ...saying('x'.repeat(3_000_000)) },
  { ...head, usage: { promptTokens: 1, completionTokens: 2, totalTokens: 3 } },
  { ...head, serviceTier: 'default', systemFingerprint: '', other: { a: [null, { b: 1 }] } },
  {},
];

describe('the encoder of a stream', () => {
  it('writes each chunk as protobuf does', () => {
    const encode = streamEncoder(StreamChatCompletionResponseSchema);
    for (const [index, init] of chunks.entries()) {
      const chunk = create(ChatCompletionChunkSchema, init);
      if (index % 2 === 0) chunk.$unknown = [{ no: 90, wireType: 0, data: Uint8Array.of(5) }];
      const message = create(StreamChatCompletionResponseSchema, { chunk });
      const expected = Buffer.from(toBinary(StreamChatCompletionResponseSchema, message));
      expect(encode(message).equals(expected), `chunk ${index}`).toBe(true);
    }
  });

  it('writes a response without a chunk', () => {
    const encode = streamEncoder(StreamChatCompletionResponseSchema);
    expect(encode(create(StreamChatCompletionResponseSchema))).toHaveLength(0);
  });
});
