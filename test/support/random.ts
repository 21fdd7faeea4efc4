/** Pseudo-random numbers. The same seed gives the same numbers. */
export class Random {
  #state: number;

  /** @param seed a whole number from 0 to 2^32 - 1 */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 up to, but not including, `end`. */
  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }

  /** True once in this many times on average. */
  onceIn(times: number): boolean {
    return this.below(times) === 0;
  }

  /** A Weyl sequence, mixed: good enough for tests. */
  #next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  }
}
