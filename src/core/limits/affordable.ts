import type { NanoCredits } from '../billing/money.ts';
import { ParleyError } from '../errors.ts';

/** The most that a chat can reserve, and the error if that is not enough. */
export interface Affordable {
  readonly credits: NanoCredits;
  readonly refuse: () => ParleyError;
  /** Undefined: no limit of tokens. */
  readonly tokens?: AffordableTokens;
}

interface AffordableTokens {
  /** The limit of a minute. */
  readonly limit: number;
  readonly left: number;
  readonly refuse: (needed: number) => ParleyError;
}

/** Credits alone, without budgets and rates. */
export function affordableCredits(credits: NanoCredits): Affordable {
  return { credits, refuse: () => new ParleyError('insufficient_credits') };
}
