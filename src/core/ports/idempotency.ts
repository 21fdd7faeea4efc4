import type { AccountId, RequestId } from '../ids.ts';
import type { Operation } from './usage.ts';

/** The claim of a request on its Idempotency-Key. A repeated request has the same fingerprint. */
export interface IdempotencyClaim {
  readonly accountId: AccountId;
  readonly operation: Operation;
  readonly key: string;
  readonly fingerprint: string;
  readonly requestId: RequestId;
  readonly nowMs: number;
  /** Earlier claims have expired. */
  readonly forgetBeforeMs: number;
}

/** The end of a claim: keeps the answer of its request, or frees the key. */
export interface ClaimEnd {
  readonly claim: IdempotencyClaim;
  /** Undefined: frees the key. */
  readonly answer: Uint8Array | undefined;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'running' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'kept'; readonly answer: Uint8Array };

/** Idempotency records: claims on Idempotency-Keys, and the answers kept for them. */
export interface IdempotencyStore {
  /** Claims an Idempotency-Key for a request, or returns the state of the first request with it. */
  claimAnswer(claim: IdempotencyClaim): Promise<ClaimOutcome>;
}
