import type { ChatCompletionParams } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { ChatChunk } from '../../core/entities/chat-answer.ts';
import type { ChatEngine } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { ModelEngines } from './model-engines.ts';
import { runAnswer, runStream } from './run.ts';

/** The engines of a chat model. No engine may change the request, as the next may receive it too. */
export function runChat(engines: ModelEngines<ChatEngine>): ChatEngine {
  const countPrompt = (params: ChatCompletionParams, signal: Signal) =>
    runAnswer(engines.orderFor(signal.owner), signal, (engine) => {
      if (engine.countPrompt === undefined) throw new ParleyError('internal_error');
      return engine.countPrompt(params, signal);
    });
  return {
    tokenizer: engines.only?.tokenizer,
    outputTokensMax: engines.only?.outputTokensMax,
    takesBlocks: engines.all.every(({ takesBlocks }) => takesBlocks),
    countPrompt: engines.all.every((engine) => engine.countPrompt) ? countPrompt : undefined,
    availability: () => engines.availability(),
    // The hold must cover the prompt on whichever engine serves it.
    contextTokens: () => {
      const known = engines.available().map(({ engine }) => engine.contextTokens?.());
      const largest = Math.max(...known.map((tokens) => tokens ?? 0));
      return largest > 0 ? largest : undefined;
    },
    complete: (params, signal) =>
      runAnswer(engines.orderFor(signal.owner), signal, (engine) => engine.complete(params, signal)),
    stream: (params, signal) =>
      runStream(engines.orderFor(signal.owner), signal, (engine) => engine.stream(params, signal), {
        // An empty batch says that the upstream has begun its answer.
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
