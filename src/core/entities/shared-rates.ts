/** The rates of a request where several servers share a database. */
import type { Limits } from './limits.ts';
import type { MinuteRates } from './rates.ts';
import type { RecordEnd } from './usage.ts';

/** The rates that a request takes over all servers. */
export interface WantedRates {
  readonly owners: readonly RatedOwner[];
  /** The most tokens that a chat can use; 0 for audio, which no limit of tokens holds up. */
  readonly tokens: number;
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

/** A running request, as it counts in the rates of a key or an account. */
export interface RateUse {
  readonly owner: string;
  /** The minute of its tokens. */
  readonly minute: number;
  /** Reserved. */
  readonly tokens: number;
}

/** The tokens that count against rates: a request that costs nothing gives back all. */
export function ratedTokens({ cost, tokens }: RecordEnd): number {
  return cost === undefined ? 0 : (tokens?.totalTokens ?? 0);
}
