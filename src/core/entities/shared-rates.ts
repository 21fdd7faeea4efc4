/** The rates of a request where several servers share a database: each server also knows what the others have let in. */

import type { Limits } from './limits.ts';
import type { Meter } from './rates.ts';
import type { RecordEnd } from './usage.ts';

/** A running request, as it counts in the rates of a key or an account. */
export interface RateUse {
  readonly owner: string;
  /** The minute of its tokens. */
  readonly minute: number;
  /** Reserved. */
  readonly tokens: number;
}

/** A key or an account with limits, and the meter of this server. */
export interface RatedOwner {
  readonly id: string;
  readonly limits: Limits;
  readonly meter: Meter;
}

/** The limit that a request exceeds over all servers. */
export interface RateExcess {
  readonly owner: RatedOwner;
  readonly unit: 'requests' | 'running' | 'tokens';
}

export class SharedRates {
  readonly #owners: readonly RatedOwner[];
  /** The most tokens that a chat can use; 0 for audio, which no limit of tokens holds up. */
  readonly #tokens: number;
  /** Why the rates were not taken. */
  excess: RateExcess | undefined;
  /** Whether this server's meters know what the others have let in. */
  hasTold = false;

  constructor(owners: readonly RatedOwner[], tokens: number) {
    this.#owners = owners;
    this.#tokens = tokens;
  }

  get owners(): readonly string[] {
    return this.#owners.map(({ id }) => id);
  }

  /**
   * Counts the request on the meters of all servers, all or nothing. Undefined, and no change, if it exceeds a limit. May be called again,
   * with the meters as they are then.
   * @param meterOf already in the running minute
   */
  take(meterOf: (owner: string) => Meter): readonly RateUse[] | undefined {
    this.excess = this.#excess(meterOf);
    if (this.excess) return undefined;
    return this.#owners.map(({ id }) => {
      const shared = meterOf(id);
      shared.requests++;
      shared.running++;
      shared.tokens += this.#tokens;
      return { owner: id, minute: shared.minute, tokens: this.#tokens };
    });
  }

  #excess(meterOf: (owner: string) => Meter): RateExcess | undefined {
    for (const owner of this.#owners) {
      const shared = meterOf(owner.id);
      const unit = shared.excess(owner.limits);
      if (unit) return { owner, unit };
      if (this.#tokens > 0 && !shared.hasTokens(this.#tokens, owner.limits)) return { owner, unit: 'tokens' };
    }
    return undefined;
  }

  /** Tells this server's meters what the others have let in. @param meterOf not yet with this request */
  tell(meterOf: (owner: string) => Meter): void {
    const own = { requests: 1, tokens: this.#tokens };
    for (const { id, meter } of this.#owners) meter.hear(meterOf(id), own);
    this.hasTold = true;
  }
}

/** The tokens that count against rates: a request that costs nothing gives back all. */
export function ratedTokens({ cost, tokens }: RecordEnd): number {
  return cost === undefined ? 0 : (tokens?.totalTokens ?? 0);
}

/** Ends a use of rates. @param usedTokens of those reserved */
export function endRateUse({ minute, tokens }: RateUse, shared: Meter, usedTokens: number): void {
  if (shared.running > 0) shared.running--;
  if (shared.minute === minute) shared.tokens = Math.max(0, shared.tokens + usedTokens - tokens);
}
