import type { Engine } from '../../core/ports/engines.ts';

/** Which of several engines is asked first: always the first one listed, or the next one each time. */
export type Balance = 'in-order' | 'round-robin';

/** At least one engine, in the order of the configuration. */
export type Listed<E extends Engine> = readonly [E, ...E[]];

/** Engines that serve one model, and in which order a request tries them. */
export class Turns<E extends Engine> {
  readonly #engines: Listed<E>;
  readonly #balance: Balance;
  #taken = 0;

  constructor(engines: Listed<E>, balance: Balance) {
    this.#engines = engines;
    this.#balance = balance;
  }

  /** Those that can work now. Where none can, the first, which says why. */
  available(): Listed<E> {
    const [first, ...others] = this.#engines.filter((engine) => engine.availability().available);
    return first === undefined ? [this.#engines[0]] : [first, ...others];
  }

  /** As `take`, without using up the turn. */
  next(): Listed<E> {
    const available = this.available();
    const start = this.#balance === 'in-order' ? 0 : this.#taken % available.length;
    const [first = available[0], ...others] = [...available.slice(start), ...available.slice(0, start)];
    return [first, ...others];
  }

  /** Those that can work now, in the order in which one request tries them. */
  take(): Listed<E> {
    const line = this.next();
    this.#taken = (this.#taken + 1) % Number.MAX_SAFE_INTEGER;
    return line;
  }
}
