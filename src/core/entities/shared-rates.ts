/** The rates of a request if several servers share a database. */
import type { Limits } from './limits.ts';
import type { MinuteRates } from './rates.ts';
import type { RecordEnd } from './usage.ts';

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
  /** The minute of its tokens. */
  readonly minute: number;
  /** Reserved tokens. */
  readonly tokens: number;
  /** As in `WantedRates`. */
  readonly running?: 0 | 1;
}

/** The tokens that count against rates: a request that costs nothing releases all. */
export function ratedTokens({ cost, tokens }: RecordEnd): number {
  return cost === undefined ? 0 : (tokens?.totalTokens ?? 0);
}
