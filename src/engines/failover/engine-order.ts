import type { Availability, Engine } from '../../core/entities/engine.ts';

/** Policy for the engine tried first: always the first one listed, or the next one for each request. */
export type Balance = 'in-order' | 'round-robin';

/** At least one engine, in the order of the configuration. */
export type EngineList<E extends Engine> = readonly [E, ...E[]];

/** The order in which a request tries the engines of one model. */
export class EngineOrder<E extends Engine> {
  readonly #engines: EngineList<E>;
  readonly #balance: Balance;
  #requests = 0;

  constructor(engines: EngineList<E>, balance: Balance) {
    this.#engines = engines;
    this.#balance = balance;
  }

  /** Available if any engine is; else the reasons of all. */
  availability(): Availability {
    const reasons: string[] = [];
    let isPending = false;
    for (const engine of this.#engines) {
      const availability = engine.availability();
      if (availability.available) return availability;
      reasons.push(availability.reason);
      isPending ||= availability.isPending === true;
    }
    return { available: false, reason: reasons.join(' '), isPending };
  }

  /** The available engines. If there are none, the first one listed, which fails with its reason. */
  available(): EngineList<E> {
    const [first, ...others] = this.#engines.filter((engine) => engine.availability().available);
    return first === undefined ? [this.#engines[0]] : [first, ...others];
  }

  /** The order for the next request. */
  peek(): EngineList<E> {
    const available = this.available();
    const start = this.#balance === 'in-order' ? 0 : this.#requests % available.length;
    const [first = available[0], ...others] = [...available.slice(start), ...available.slice(0, start)];
    return [first, ...others];
  }

  /** The order for one request. Advances the order for the next. */
  take(): EngineList<E> {
    const order = this.peek();
    this.#requests = (this.#requests + 1) % Number.MAX_SAFE_INTEGER;
    return order;
  }
}
