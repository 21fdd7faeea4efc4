const leastMs = 100;
const mostMs = 30_000;
/** Who has lived so long does not count as failing again and again. */
const livedMs = 60_000;

/** The pauses before a worker is started again: at first next to none, doubled with each end that follows soon, up to a bound. */
export class Backoff {
  #pauseMs = 0;
  #lastAtMs = Number.NEGATIVE_INFINITY;

  /** To be called when it has ended. */
  next(): number {
    const nowMs = performance.now();
    const isSoon = nowMs - this.#lastAtMs < livedMs + this.#pauseMs;
    this.#lastAtMs = nowMs;
    this.#pauseMs = isSoon ? Math.min(mostMs, this.#pauseMs * 2) : leastMs;
    return this.#pauseMs;
  }
}
