import { ParleyError } from './errors.ts';

/** Aborts a request when its time is up or its client has left. */
export class Deadline {
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  /** @param requestMsMax how long the whole request may take; then it ends with `overloaded` */
  constructor(requestMsMax: number) {
    this.#timer = setTimeout(() => this.#abort.abort(timeUp(requestMsMax)), requestMsMax);
  }

  /** Its reason is a ParleyError. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The client has left, or its own deadline has passed. Ignored once the request is over. */
  cancel(): void {
    if (!this.#isOver) this.#abort.abort(new ParleyError('request_cancelled'));
  }

  stop(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
  }
}

function timeUp(requestMsMax: number): ParleyError {
  const seconds = Math.round(requestMsMax / 1000);
  return new ParleyError('overloaded', {
    message: `The request took longer than ${seconds} seconds and was ended. Send less at once, or try again later.`,
    retryAfterSeconds: 10,
  });
}
