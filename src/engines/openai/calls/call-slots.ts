import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';

/** Retry-After for clients that find the queue full. */
const retryAfterSeconds = 1;

export class CallSlots {
  readonly #callsMax: number;
  readonly #queueMax: number;
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(callsMax: number, queueMax: number) {
    this.#callsMax = callsMax;
    this.#free = callsMax;
    this.#queueMax = queueMax;
  }

  get counts() {
    return {
      waiting: this.#waiting.size,
      waitingMax: this.#queueMax,
      running: this.#callsMax - this.#free,
      runningMax: this.#callsMax,
    };
  }

  /**
   * Takes a slot; then call `release` exactly once. Undefined if one is free, else resolves when the call may run.
   * @throws `overloaded` if the queue is full, or the signal's reason
   */
  take(signal: Signal): Promise<void> | undefined {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return undefined;
    }
    if (this.#waiting.size >= this.#queueMax) {
      throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const leave = () => {
      this.#waiting.delete(resolve);
      reject(signal.reason);
    };
    this.#waiting.add(resolve);
    signal.addEventListener('abort', leave, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', leave));
  }

  release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
