import type { TokenUsage } from '../entities/usage.ts';
import type { NanoCredits } from '../values/money.ts';

/** Usage so far. Operations update it as they run, so that a request that ends early can be settled, too. */
export interface Used {
  audioMsIn?: number | undefined;
  audioMsOut?: number | undefined;
  tokens?: TokenUsage | undefined;
  /** The cost of the tokens, even if it exceeds the hold. */
  cost?: NanoCredits | undefined;
}
