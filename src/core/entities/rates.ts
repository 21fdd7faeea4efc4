/** Requests and tokens of the current minute, and running requests. */
import type { Limits } from './limits.ts';
import type { RecordEnd } from './usage.ts';

export const minuteMs = 60_000;
/** Number of meters that stay in memory although their owner has no running requests. */
const idleMax = 10_000;

export interface MinuteRates {
  readonly requests: number;
  readonly tokens: number;
}

/** The rates of one key or account. */
export class Meter {
  running = 0;
  requests = 0;
  /** Tokens used and reserved. */
  tokens = 0;
  /** Minutes since 1970. */
  minute = 0;
  /** Requests and tokens of the other servers in this minute, as they were at the last reservation. */
  #elsewhere = { requests: 0, tokens: 0 };

  /** Begins a new minute if the last one is over. Setting the clock back begins no new minute. */
  moveTo(nowMs: number): void {
    const minute = Math.floor(nowMs / minuteMs);
    if (minute <= this.minute) return;
    this.minute = minute;
    this.requests = 0;
    this.tokens = 0;
    this.#elsewhere = { requests: 0, tokens: 0 };
  }

  /** Requests or tokens of this minute, those of other servers included. */
  all(unit: 'requests' | 'tokens'): number {
    return this[unit] + this.#elsewhere[unit];
  }

  /** Notes the rates of all servers. @param own parts of this meter that these rates do not include yet */
  noteAll(all: MinuteRates, own: MinuteRates): void {
    const beyond = (unit: keyof MinuteRates) => Math.max(0, all[unit] - (this[unit] - own[unit]));
    this.#elsewhere = { requests: beyond('requests'), tokens: beyond('tokens') };
  }
}

/** The meters of keys and accounts with limits. They are in memory only: a restart begins a new minute. */
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

  /** Drops meters whose minute is over. */
  #dropIdle(newest: Meter): void {
    let latest = 0;
    for (const { minute } of this.#meters.values()) latest = Math.max(latest, minute);
    for (const [owner, meter] of this.#meters) {
      if (meter.running === 0 && meter.minute < latest && meter !== newest) this.#meters.delete(owner);
    }
    this.#sizeMax = this.#meters.size + idleMax;
  }
}

/** The parts of a request in the rates of all servers. */
export interface WantedRates {
  readonly owners: readonly RatedOwner[];
  /** The most tokens that a chat can use; 0 for audio, which no limit of tokens restricts. */
  readonly tokens: number;
  /** 0 for a turn of a session, which counts among the concurrent requests itself. Default: 1. */
  readonly running?: 0 | 1;
}

/** A key or an account with limits. */
export interface RatedOwner {
  readonly id: string;
  readonly limits: Limits;
}

/** Requests and tokens of the running minute over all servers. */
export interface SharedRate extends MinuteRates {
  readonly owner: string;
}

/** The part of a running request in the rates of a key or an account. */
export interface RateUse {
  readonly owner: string;
  readonly minute: number;
  /** Reserved tokens. */
  readonly tokens: number;
  readonly running?: 0 | 1;
}

/** The tokens that count against rates: a request that costs nothing releases all. */
export function ratedTokens({ cost, tokens }: RecordEnd): number {
  return cost === undefined ? 0 : (tokens?.totalTokens ?? 0);
}
