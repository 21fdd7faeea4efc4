import { ParleyError } from '../values/errors.ts';
import type { NanoCredits } from '../values/money.ts';

/** The most that a chat can reserve, and the error if that is not enough. */
export interface Affordable {
  /** The smallest of the available credits and the rest of each budget. */
  readonly credits: NanoCredits;
  /** Undefined: no limit of tokens. */
  readonly tokens?: { readonly limit: number; readonly left: number };
  creditsError(): ParleyError;
  /** @param needed the most tokens that the chat can use */
  tokensError(needed: number): ParleyError;
}

/** Credits alone, without budgets and rates. */
export function affordableCredits(credits: NanoCredits): Affordable {
  return {
    credits,
    creditsError: () => new ParleyError('insufficient_credits'),
    tokensError: () => new ParleyError('rate_limit_exceeded'),
  };
}
