import { create } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatMessage,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ChatAnswer } from '../entities/chat-answer.ts';
import { contentText } from '../entities/chat-text.ts';

/** A plain answer as the only chunk of a stream. */
export function asChunk({ message: completion }: ChatAnswer): ChatCompletionChunk {
  const { model, usage, serviceTier, choices } = completion;
  return create(ChatCompletionChunkSchema, {
    model,
    usage,
    serviceTier,
    choices: choices.map(({ index, message, logprobs, finishReason, other }) => ({
      index,
      logprobs,
      finishReason,
      other,
      delta: message && deltaOf(message),
    })),
  });
}

function deltaOf({ content, refusal, toolCalls, other }: ChatMessage) {
  return {
    content: contentText(content),
    refusal,
    other,
    toolCalls: toolCalls.map((call, index) => ({ ...call, index })),
  };
}
