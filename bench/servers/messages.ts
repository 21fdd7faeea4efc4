/** The chat answers of the gRPC servers: one message, or a stream of 100. */
import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';

const chunks = 100;
const head = { id: 'chatcmpl-bench', created: 1_700_000_000n, model: 'bench' };
const usage = { promptTokens: 9, completionTokens: 200, totalTokens: 209 };

export function chatCompletion(): ChatCompletion {
  const content = { value: { case: 'text', value: 'word '.repeat(100) } } as const;
  const choices = [{ index: 0, message: { role: 'assistant', content }, finishReason: 'stop' }];
  return create(ChatCompletionSchema, { ...head, object: 'chat.completion', choices, usage });
}

export function chatChunks(): ChatCompletionChunk[] {
  return Array.from({ length: chunks }, (_, index) => {
    const isLast = index === chunks - 1;
    const choice = { index: 0, delta: { content: ` word${index}` }, ...(isLast && { finishReason: 'stop' }) };
    const chunk = { ...head, object: 'chat.completion.chunk', choices: [choice], ...(isLast && { usage }) };
    return create(ChatCompletionChunkSchema, chunk);
  });
}
