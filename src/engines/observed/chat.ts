import type { ChatChunk } from '../../core/entities/chat-answer.ts';
import type { ChatEngine } from '../../core/entities/engine.ts';
import type { ObservedRequest } from './observed-requests.ts';
import { ObservedStream } from './observed-stream.ts';

export function observedChat(engine: ChatEngine, begin: () => ObservedRequest): ChatEngine {
  return {
    tokenizer: engine.tokenizer,
    availability: () => engine.availability(),
    contextTokens: () => engine.contextTokens?.(),
    complete: async (params, signal) => {
      const request = begin();
      try {
        const answer = await engine.complete(params, signal);
        request.succeed();
        return answer;
      } catch (error) {
        request.fail(error);
        throw error;
      }
    },
    stream: (params, signal) =>
      new ObservedStream(engine.stream(params, signal), begin, {
        // An engine that is still being started sends empty batches.
        isOutput: ({ length }) => length > 0,
        isLast: finishes(),
      }),
  };
}

/** Whether a batch has the finish reason of a choice. Chunks may share their choices. */
function finishes(): (chunks: readonly ChatChunk[]) => boolean {
  let seen: ChatChunk['choices'] | undefined;
  return (chunks) =>
    chunks.some(({ choices }) => {
      if (choices === seen) return false;
      seen = choices;
      return choices.some(({ finishReason }) => finishReason);
    });
}
