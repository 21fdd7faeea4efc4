import type { ChatEngine } from '../../core/entities/engine.ts';
import { firstAnswer, firstStream } from './attempts.ts';
import { type EngineChoice, type EngineList, EngineOrder } from './engine-order.ts';

/** Several engines of one chat model. No engine may change the request, as the next may receive it too. */
export function failoverChat(engines: EngineList<ChatEngine>, choice: EngineChoice): ChatEngine {
  if (engines.length === 1) return engines[0];
  const order = new EngineOrder(engines, choice);
  return {
    availability: () => order.availability(),
    // The hold must cover the prompt on whichever engine serves it.
    contextTokens: () => {
      const known = order.available().map((engine) => engine.contextTokens?.());
      const largest = Math.max(...known.map((tokens) => tokens ?? 0));
      return largest > 0 ? largest : undefined;
    },
    complete: (params, signal) =>
      firstAnswer(order.take(signal.owner), signal, (engine) => engine.complete(params, signal)),
    stream: (params, signal) =>
      firstStream(
        order.take(signal.owner),
        signal,
        (engine) => engine.stream(params, signal),
        // An engine that is still being started sends empty batches.
        ({ length }) => length > 0,
      ),
  };
}
