import { ParleyError } from '../../core/errors.ts';
import type { CallLife } from './call-life.ts';

/** When a client should try again that found the queue full. */
const retryAfterSeconds = 1;

/** Bounds how many calls run at once, and how many wait for one of those to end. */
export class CallSlots {
  readonly #queueMax: number;
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(callsMax: number, queueMax: number) {
    this.#free = callsMax;
    this.#queueMax = queueMax;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves when the call may run; it must then be given back with `release`, exactly once.
   * @throws `overloaded` where the queue is full; rejects with the reason of the call's early end
   */
  async take(life: CallLife): Promise<void> {
    life.throwIfEnded();
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    if (this.#waiting.size >= this.#queueMax) {
      throw new ParleyError('overloaded', { retryAfterSeconds, hasNotRun: true });
    }
    await new Promise<void>((resolve, reject) => {
      const forget = life.onEarlyEnd((reason) => {
        this.#waiting.delete(enter);
        reject(reason);
      });
      const enter = () => {
        forget();
        resolve();
      };
      this.#waiting.add(enter);
    });
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
