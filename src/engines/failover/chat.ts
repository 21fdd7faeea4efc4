import type { ChatEngine } from '../../core/ports/engines.ts';
import { firstAnswer, firstStream } from './attempts.ts';
import { availabilityOf } from './availability.ts';
import { type Balance, type Listed, Turns } from './turns.ts';

/** One engine of several that serve the same chat model. Each leaves the request as it is: another may get it after. */
export function failoverChat(engines: Listed<ChatEngine>, balance: Balance): ChatEngine {
  if (engines.length === 1) return engines[0];
  const turns = new Turns(engines, balance);
  return {
    availability: () => availabilityOf(engines),
    complete: (params, signal) =>
      firstAnswer(turns.take(), signal, (engine) => engine.complete(params, signal)),
    stream: (params, signal) => firstStream(turns.take(), signal, (engine) => engine.stream(params, signal)),
  };
}
