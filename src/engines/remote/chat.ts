import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  type ChatCompletionParams,
  CreateChatCompletionRequestSchema,
  StreamChatCompletionRequestSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { messageAnswer, messageChunk } from '../../core/entities/chat-answer.ts';
import { chunkText } from '../../core/entities/chat-text.ts';
import type { ChatEngine } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { withDoubles } from '../../core/values/long-integers.ts';
import { chatAnswerBytesMax } from '../answer-limits.ts';
import type { RemoteModel } from './catalog.ts';

/** Passes messages on unchanged in both directions, so that unknown fields keep their place. */
export function createRemoteChat({ name, calls, catalog }: RemoteModel): ChatEngine {
  const named = (params: ChatCompletionParams): ChatCompletionParams => ({
    ...withDoubles(params),
    model: name,
  });
  return {
    availability: () => catalog.availability(name, 'chat'),
    complete: async (params, signal) => {
      const request = create(CreateChatCompletionRequestSchema, { params: named(params) });
      const { completion } = await calls.unary(ChatService.method.createChatCompletion, request, signal);
      if (completion !== undefined) return messageAnswer(completion);
      throw new ParleyError('upstream_error', { cause: new Error('the remote sent no completion') });
    },
    async *stream(params, signal) {
      const request = create(StreamChatCompletionRequestSchema, { params: named(params) });
      let first: ChatCompletionChunk | undefined;
      let isRepeat = false;
      const responses = calls.stream(ChatService.method.streamChatCompletion, request, signal, {
        bytesMax: chatAnswerBytesMax(params),
        isOutput: ({ chunk }) => chunk !== undefined && chunkText(chunk) !== '',
        onRepeat: () => {
          isRepeat = first !== undefined;
        },
      });
      for await (const { chunk } of responses) {
        if (chunk === undefined) continue;
        first ??= chunk;
        if (isRepeat && isOpening(chunk)) continue;
        // A repeated call has its own id; the client sees one answer.
        yield [messageChunk(isRepeat ? { ...chunk, id: first.id, created: first.created } : chunk)];
      }
    },
  };
}

/** Whether a chunk only opens its choices. The client already has such a chunk from the lost call. */
function isOpening(chunk: ChatCompletionChunk): boolean {
  return (
    chunk.choices.length > 0 &&
    chunkText(chunk) === '' &&
    chunk.choices.every((choice) => !choice.finishReason)
  );
}
