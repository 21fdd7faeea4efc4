import { ParleyError } from '../values/errors.ts';
import type { NanoCredits } from '../values/money.ts';

/** The most that a chat can reserve, and the error if that is not enough. */
export interface Affordable {
  /** The smallest of the available credits and the rest of each budget. */
  readonly credits: NanoCredits;
  readonly tokens?: { readonly limit: number; readonly left: number };
  /** @param needed the credits of the shortest answer */
  creditsError(needed: NanoCredits): ParleyError;
  /** @param needed the most tokens that the chat can use */
  tokensError(needed: number): ParleyError;
}

export function balanceError(amount: NanoCredits, available: NanoCredits): ParleyError {
  const reached = { owner: 'account', unit: 'balance', amount, limit: available, taken: 0n };
  return new ParleyError('insufficient_credits', { reached });
}

/** Credits alone, without budgets and rates. */
export function affordableCredits(credits: NanoCredits): Affordable {
  return {
    credits,
    creditsError: (needed) => balanceError(needed, credits),
    tokensError: () => new ParleyError('rate_limit_exceeded'),
  };
}
