/** Requests and tokens of the running minute, and requests that run now. In memory only: a restart begins a new minute. */

export const minuteMs = 60_000;
/** Meters that stay in memory although nothing of their owner runs. */
const idleMax = 10_000;

/** The rates of one key or account. */
export class Meter {
  /** Requests that run now. */
  running = 0;
  requests = 0;
  /** Tokens used and reserved. */
  tokens = 0;
  #minute = 0;

  get minute(): number {
    return this.#minute;
  }

  /** Begins a new minute if it is over. */
  moveTo(nowMs: number): void {
    const minute = Math.floor(nowMs / minuteMs);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.requests = 0;
    this.tokens = 0;
  }
}

/** The meters of keys and accounts with limits. */
export class Rates {
  readonly #meters = new Map<string, Meter>();
  #sizeMax = idleMax;

  meterOf(owner: string): Meter {
    let meter = this.#meters.get(owner);
    if (meter === undefined) {
      meter = new Meter();
      this.#meters.set(owner, meter);
      if (this.#meters.size > this.#sizeMax) this.#dropIdle(meter);
    }
    return meter;
  }

  /** Drops those whose minute is over. */
  #dropIdle(newest: Meter): void {
    const latest = Math.max(...[...this.#meters.values()].map(({ minute }) => minute));
    for (const [owner, meter] of this.#meters) {
      if (meter.running === 0 && meter.minute < latest && meter !== newest) this.#meters.delete(owner);
    }
    this.#sizeMax = this.#meters.size + idleMax;
  }
}
