import { ParleyError } from './errors.ts';
import { type Signal, type TimedSignal, TimeLimit } from './signal.ts';

/** How long a whole request may take; then it ends with `overloaded`. */
export function requestTimeLimit(requestMsMax: number): TimeLimit {
  const seconds = Math.round(requestMsMax / 1000);
  const timeUp = () =>
    new ParleyError('overloaded', {
      message: `The request took longer than ${seconds} seconds and was ended. Send less at once, or try again later.`,
      retryAfterSeconds: 10,
    });
  return new TimeLimit(requestMsMax, timeUp);
}

/** Aborts a request when its time is up or its client has left. */
export class Deadline {
  readonly #signal: TimedSignal;
  #isOver = false;

  constructor(limit: TimeLimit) {
    this.#signal = limit.begin();
  }

  /** Its reason is a ParleyError. */
  get signal(): Signal {
    return this.#signal;
  }

  /** Names the account whose request it is, once that is known. */
  ownedBy(account: string): void {
    this.#signal.owner = account;
  }

  /** The client has left, or its own deadline has passed. Ignored once the request is over. */
  cancel(): void {
    if (!this.#isOver) this.#signal.abort(new ParleyError('request_cancelled'));
  }

  stop(): void {
    this.#isOver = true;
    this.#signal.end();
  }
}
