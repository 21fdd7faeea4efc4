/** Runs a session of requests. Each is opened by the gate, has a record of its own, and is answered after the one before. */
import type { Call, Turns } from '../access/call.ts';
import { meteredParts } from '../billing/metered.ts';
import { type ParleyError, toParleyError } from '../values/errors.ts';
import { OwnSignal, untilAborted } from '../values/signal.ts';
import { SessionTimers, sessionLimits } from './session-timers.ts';

/** @param call the request's own, not the session's */
export type Answer<Request, Part> = (request: Request, call: Call) => AsyncIterable<Part>;

export class RequestSession {
  readonly #call: Call;
  readonly #turns: Turns;
  readonly #timers: SessionTimers;
  /** Aborts the wait for the next request. */
  readonly #end = new OwnSignal();

  constructor(call: Call, limits = sessionLimits) {
    if (call.turns === undefined) throw new Error('the gate did not open a session');
    this.#call = call;
    this.#turns = call.turns;
    const finish = (reason: ParleyError) => this.finish(reason);
    this.#timers = new SessionTimers(limits, call.turns, { end: finish, refuse: finish });
    call.signal.addEventListener('abort', this.#onAbort, { once: true });
    if (call.signal.aborted) this.#onAbort();
  }

  /** The parts of all answers. Throws the first error of a request, or the reason of the session's end. */
  async *answers<Request, Part>(
    requests: AsyncIterable<Request>,
    answer: Answer<Request, Part>,
  ): AsyncGenerator<Part, void, void> {
    const iterator = requests[Symbol.asyncIterator]();
    for (;;) {
      const { done, value } = await untilAborted(iterator.next(), this.#end);
      if (done) return;
      this.#timers.noteMessage();
      const call = await this.#turns.open();
      for await (const part of meteredParts(call, answer(value, call), () => true)) {
        yield part;
        this.#timers.noteMessage();
      }
    }
  }

  /** Accepts no more requests. The current one is answered. */
  finish(reason: ParleyError): void {
    this.#end.abort(reason);
  }

  leave(): void {
    this.#timers.stop();
    this.#call.signal.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = () => this.finish(toParleyError(this.#call.signal.reason));
}
