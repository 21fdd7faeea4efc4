import type { AccountId, RequestId } from '../ids.ts';
import type { Operation } from './usage.ts';

/** The first request under an Idempotency-Key, and what makes another the same. */
export interface IdempotencyClaim {
  readonly accountId: AccountId;
  readonly operation: Operation;
  readonly key: string;
  readonly fingerprint: string;
  readonly requestId: RequestId;
  readonly nowMs: number;
  /** Claims from before this are forgotten. */
  readonly forgetBeforeMs: number;
}

/** What becomes of a claim when its request ends: its answer is kept, or the key is free again. */
export interface ClaimEnd {
  readonly claim: IdempotencyClaim;
  readonly answer: Uint8Array | undefined;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'running' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'kept'; readonly answer: Uint8Array };

/** Claims on Idempotency-Keys, and the answers kept under them. */
export interface IdempotencyStore {
  /** Takes an Idempotency-Key for a request, or tells what became of the first one under it. */
  claimAnswer(claim: IdempotencyClaim): Promise<ClaimOutcome>;
}
