import { createHash } from 'node:crypto';
import type { Availability, Engine } from '../../core/entities/engine.ts';
import { runningOn } from './attempts.ts';

/**
 * Policy for the engine tried first: always the first one listed, the next one for each request, or the one that works on the
 * fewest requests of the model for its weight.
 */
export type Balance = 'in-order' | 'round-robin' | 'least-busy';

export interface EngineChoice {
  readonly balance: Balance;
  /** In the order of the engines: the share of requests that each should have. Default: 1. */
  readonly weights?: readonly number[] | undefined;
  /** Whether requests of one account go to one engine, as long as it is available. Default: false. */
  readonly isSticky?: boolean | undefined;
}

/** At least one engine, in the order of the configuration. */
export type EngineList<E extends Engine> = readonly [E, ...E[]];

/** The order in which a request tries the engines of one model. */
export class EngineOrder<E extends Engine> {
  readonly #engines: EngineList<E>;
  readonly #choice: EngineChoice;
  #requests = 0;

  constructor(engines: EngineList<E>, choice: EngineChoice) {
    this.#engines = engines;
    this.#choice = choice;
  }

  /** Available if any engine is; otherwise has the reasons of all. */
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

  /** The order for the next request. @param account the account of the request, for a sticky order */
  peek(account?: string): EngineList<E> {
    const { balance, isSticky } = this.#choice;
    const available = this.available();
    const start = balance === 'in-order' ? 0 : this.#requests % available.length;
    const order = [...available.slice(start), ...available.slice(0, start)];
    if (isSticky && account !== undefined) order.sort(by((engine) => this.#distance(engine, account)));
    else if (balance === 'least-busy')
      order.sort(by((engine) => (runningOn(engine) + 1) / this.#weightOf(engine)));
    const [first = available[0], ...others] = order;
    return [first, ...others];
  }

  /** The order for one request. Advances the order for the next. */
  take(account?: string): EngineList<E> {
    const order = this.peek(account);
    this.#requests = (this.#requests + 1) % Number.MAX_SAFE_INTEGER;
    return order;
  }

  #weightOf(engine: E): number {
    return this.#choice.weights?.[this.#engines.indexOf(engine)] ?? 1;
  }

  /** Rendezvous hashing: an engine that comes or goes moves only the accounts that it gets or had. */
  #distance(engine: E, account: string): number {
    return -Math.log(shareOf(`${account} ${this.#engines.indexOf(engine)}`)) / this.#weightOf(engine);
  }
}

function by<E>(value: (engine: E) => number): (one: E, other: E) => number {
  return (one, other) => value(one) - value(other);
}

/** A hash of the text, above 0 and at most 1. */
function shareOf(text: string): number {
  const digest = createHash('sha256').update(text).digest();
  return (digest.readUInt32BE() + 1) / 2 ** 32;
}
