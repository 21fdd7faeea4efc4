const firstPauseMs = 500;
const pauseMsMax = 60_000;

/**
 * Pauses after failures in a row. A program that worked is started again at once after its first failure; any other
 * pause is twice the one before.
 */
export class Backoff {
  #failures = 0;
  #notBeforeMs = 0;

  get failures(): number {
    return this.#failures;
  }

  get waitMs(): number {
    return Math.max(0, this.#notBeforeMs - performance.now());
  }

  /** @param hasWorked whether it was ready before it failed */
  failed(hasWorked: boolean): void {
    this.#failures++;
    const isFirst = hasWorked && this.#failures === 1;
    const pauseMs = isFirst ? 0 : Math.min(firstPauseMs * 2 ** (this.#failures - 1), pauseMsMax);
    this.#notBeforeMs = performance.now() + pauseMs * (0.75 + Math.random() / 4);
  }

  worked(): void {
    this.#failures = 0;
  }
}
