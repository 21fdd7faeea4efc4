import type { ReserveOutcome } from '../entities/reservation.ts';
import { ParleyError } from '../values/errors.ts';
import type { NanoCredits } from '../values/money.ts';

/** Why a chat was not reserved: its credits, a budget, or the tokens of the minute. */
export type Shortage = Extract<ReserveOutcome, 'insufficient_credits' | 'limit_reached' | 'rate_reached'>;

/** The most that a chat can reserve, and the errors if that is not enough. */
export interface Affordable {
  readonly credits: NanoCredits;
  /** The limit that allows no more credits. */
  readonly creditsBy: Exclude<Shortage, 'rate_reached'>;
  /** Undefined: no limit of tokens. */
  readonly tokens?: { readonly limit: number; readonly left: number };
  /** @param needed the most tokens that the chat can use */
  readonly refuse: (by: Shortage, needed: number) => ParleyError;
}

/** Credits alone, without budgets and rates. */
export function affordableCredits(credits: NanoCredits): Affordable {
  return {
    credits,
    creditsBy: 'insufficient_credits',
    refuse: () => new ParleyError('insufficient_credits'),
  };
}
