import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionParams,
  CreateChatCompletionRequestSchema,
  StreamChatCompletionRequestSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { messageAnswer, messageChunk } from '../../core/chat/answer.ts';
import { ParleyError } from '../../core/errors.ts';
import { withDoubles } from '../../core/long-integers.ts';
import type { ChatEngine } from '../../core/ports/engines.ts';
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
      const { streamChatCompletion } = ChatService.method;
      const bytesMax = chatAnswerBytesMax(params);
      for await (const { chunk } of calls.stream(streamChatCompletion, request, signal, bytesMax)) {
        if (chunk !== undefined) yield [messageChunk(chunk)];
      }
    },
  };
}
