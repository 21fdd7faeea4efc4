import type { AccountId, RequestId } from '../values/ids.ts';
import type { Operation } from './usage.ts';

/** How long an answer is stored: 24 hours. */
export const keptMs = 24 * 60 * 60 * 1000;
/** Added to the bytes of each answer, so that a limit on bytes also limits records. */
export const recordBytes = 4_096;

/** A request's claim on its Idempotency-Key. A repeated request has the same fingerprint. */
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

/** The end of a claim: stores the answer of its request, or frees the key. */
export interface ClaimEnd {
  readonly claim: IdempotencyClaim;
  /** Undefined to free the key. */
  readonly answer: Uint8Array | undefined;
}

export type ClaimOutcome =
  | { readonly kind: 'claimed' }
  | { readonly kind: 'running' }
  | { readonly kind: 'conflict' }
  | { readonly kind: 'kept'; readonly answer: Uint8Array };

export interface IdempotencyStore {
  /** Claims an Idempotency-Key for a request, or returns the state of the first request with it. */
  claim(claim: IdempotencyClaim): Promise<ClaimOutcome>;
  /** Removes the oldest answers of an account, until the others have at most this many bytes, with `recordBytes` for each. */
  removeOldest(accountId: AccountId, bytesMax: number): Promise<void>;
}
