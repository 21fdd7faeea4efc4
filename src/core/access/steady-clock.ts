import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';

/** If the clock is set back further, it was wrong before, and its new time counts. */
const setBackMsMax = 24 * 60 * 60 * 1000;

/**
 * A clock for keys, trials and plans that never goes back: an expired key stays expired when the machine's clock is set
 * back. Durations are measured with the other clock.
 */
export class SteadyClock implements Clock {
  readonly #clock: Clock;
  #latestMs: number;

  /** @param latestMs the latest time known from an earlier run */
  constructor(clock: Clock, latestMs = 0) {
    this.#clock = clock;
    this.#latestMs = latestMs;
  }

  now(): number {
    const nowMs = this.#clock.now();
    if (nowMs > this.#latestMs || this.#latestMs - nowMs > setBackMsMax) this.#latestMs = nowMs;
    return this.#latestMs;
  }
}

/** Starts from the newest record and audit entry. */
export async function steadyClock(clock: Clock, store: Pick<Store, 'usage' | 'audit'>): Promise<SteadyClock> {
  const page = { size: 1, after: undefined };
  const [records, entries] = await Promise.all([store.usage.list({}, page), store.audit.list(page)]);
  const times = [
    ...records.items.map(({ startedAtMs }) => startedAtMs),
    ...entries.items.map(({ createdAtMs }) => createdAtMs),
  ];
  return new SteadyClock(clock, Math.max(0, ...times));
}
