import { ParleyError } from './errors.ts';
import { type EngineAttempt, type Signal, type TimedSignal, TimeLimit } from './signal.ts';

/** Maximum time of a whole request. After it the request ends with `overloaded`. */
export function requestTimeLimit(requestMsMax: number): TimeLimit {
  const seconds = Math.round(requestMsMax / 1000);
  const timeUp = () =>
    new ParleyError('overloaded', {
      isTimeLimit: true,
      message: `The request took longer than ${seconds} seconds and was ended. Send less at once, or try again later.`,
      retryAfterSeconds: 10,
    });
  return new TimeLimit(requestMsMax, timeUp);
}

/** Aborts a request when its time is up or its client has left. */
export class Deadline {
  readonly #signal: TimedSignal;
  #isOver = false;
  #ending: NodeJS.Timeout | undefined;

  constructor(limit: TimeLimit) {
    this.#signal = limit.begin();
  }

  /** The reason is a ParleyError. */
  get signal(): Signal {
    return this.#signal;
  }

  /** Sets the account of the request, once known, and the list of the engines that work on it. */
  ownedBy(account: string, attempts: EngineAttempt[]): void {
    this.#signal.owner = account;
    this.#signal.attempts = attempts;
  }

  /** Aborts because the client has left, or its own deadline has passed. Ignored once the request has ended. */
  cancel(): void {
    if (!this.#isOver) this.#signal.abort(new ParleyError('request_cancelled'));
  }

  /** Asks `cut` when the time is up. If it returns a time in milliseconds, the signal aborts only after it. */
  askFirst(cut: (reason: unknown) => number | undefined): void {
    this.#signal.onTimeUp = (reason) => {
      const endingMs = this.#isOver ? undefined : cut(reason);
      const abort = () => this.#signal.abort(reason);
      if (endingMs === undefined) abort();
      else this.#ending = setTimeout(abort, endingMs).unref();
    };
  }

  stop(): void {
    this.#isOver = true;
    this.#signal.end();
    clearTimeout(this.#ending);
  }
}
