/** The engines of one model, and the order in which a request tries them. */
import { createHash } from 'node:crypto';
import type { Availability, Engine } from '../../core/entities/engine.ts';
import type { EngineCounts } from './engine-counts.ts';

/** Whether a request tries the first engine first, or the one of its account. */
export type Balance = 'in-order' | 'sticky';

/** An engine of a model. Its counts are those of all its models. */
export interface Candidate<E extends Engine> {
  readonly engine: E;
  /** The id of the model. */
  readonly model: string;
  readonly counts: EngineCounts;
}

/** At least one, in the order of the configuration. */
export type Candidates<E extends Engine> = readonly [Candidate<E>, ...Candidate<E>[]];

/** An account leaves its engine for one that is less busy if its own works on so many times the average of all. */
const busyFactor = 1.25;

export class ModelEngines<E extends Engine> {
  readonly #all: Candidates<E>;
  readonly #balance: Balance;

  constructor(all: Candidates<E>, balance: Balance = 'in-order') {
    this.#all = all;
    this.#balance = balance;
  }

  /** The engine of a model that has one; undefined if it has several. */
  get only(): E | undefined {
    return this.#all.length === 1 ? this.#all[0].engine : undefined;
  }

  get all(): readonly E[] {
    return this.#all.map(({ engine }) => engine);
  }

  /** Available if any engine is; otherwise has the reasons of all. */
  availability(): Availability {
    if (this.only) return this.only.availability();
    const reasons: string[] = [];
    let isPending = false;
    for (const { engine } of this.#all) {
      const availability = engine.availability();
      if (availability.available) return availability;
      reasons.push(availability.reason);
      isPending ||= availability.isPending === true;
    }
    return { available: false, reason: reasons.join(' '), isPending };
  }

  /** The available engines. If there are none, the first one listed, which fails with its reason. */
  available(): Candidates<E> {
    if (this.only) return this.#all;
    const [first, ...others] = this.#all.filter(({ engine }) => engine.availability().available);
    return first === undefined ? [this.#all[0]] : [first, ...others];
  }

  orderFor(account: string | undefined): Candidates<E> {
    const available = this.available();
    if (this.#balance === 'in-order' || available.length === 1) return available;
    const near = available
      .map((one) => ({ one, distance: distance(account ?? '', this.#all.indexOf(one)) }))
      .sort((a, b) => a.distance - b.distance)
      .map(({ one }) => one);
    const all = near.reduce((sum, one) => sum + one.counts.running, 1);
    const isFree = (one: Candidate<E>) => one.counts.running < (busyFactor * all) / near.length;
    const [first = available[0], ...others] = [...near.filter(isFree), ...near.filter((one) => !isFree(one))];
    return [first, ...others];
  }
}

/** Rendezvous hashing: an engine that comes or goes moves only the accounts that it gets or had. */
function distance(account: string, engine: number): number {
  return createHash('sha256').update(`${account} ${engine}`).digest().readUInt32BE();
}
