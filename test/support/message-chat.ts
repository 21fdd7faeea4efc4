/** Chat engines in the form in which tests write and read them: in messages, one chunk at a time. */

import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionParams,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { messageAnswer, messageChunk } from '../../src/core/entities/chat-answer.ts';
import type { ChatEngine, Engine } from '../../src/core/entities/engine.ts';
import type { Signal } from '../../src/core/values/signal.ts';

export interface MessageChat extends Engine {
  complete(params: ChatCompletionParams, signal: Signal): Promise<ChatCompletion>;
  stream(params: ChatCompletionParams, signal: Signal): AsyncIterable<ChatCompletionChunk>;
}

export function toEngine(chat: MessageChat): ChatEngine {
  return {
    availability: () => chat.availability(),
    complete: async (params, signal) => messageAnswer(await chat.complete(params, signal)),
    stream: async function* (params, signal) {
      for await (const chunk of chat.stream(params, signal)) yield [messageChunk(chunk)];
    },
  };
}

export function inMessages(engine: ChatEngine): MessageChat {
  return {
    availability: () => engine.availability(),
    complete: async (params, signal) => (await engine.complete(params, signal)).message,
    stream: async function* (params, signal) {
      for await (const chunks of engine.stream(params, signal)) {
        for (const { message } of chunks) yield message;
      }
    },
  };
}
