/** What an RPC function knows of the request it serves, besides the request's message. */
import type { Entitlement } from './access/entitlement.ts';
import type { Metering } from './billing/metering.ts';
import type { KeyId, RequestId } from './ids.ts';
import type { AccountFacts } from './ports/accounts.ts';
import type { Scope } from './ports/keys.ts';
import type { Operation, Wire } from './ports/usage.ts';

export interface Caller {
  readonly keyId: KeyId;
  readonly account: AccountFacts;
  readonly scopes: readonly Scope[];
  /** As it was at admission; it holds for the whole request. */
  readonly entitlement: Entitlement;
}

export interface Call {
  readonly id: RequestId;
  readonly operation: Operation;
  readonly wire: Wire;
  readonly caller: Caller;
  /** Aborts when the client has left or the request's time is up; its reason is a ParleyError. */
  readonly signal: AbortSignal;
  readonly startedAtMs: number;
  /** Bytes of the request's message, which the edge notes once it has read it. */
  requestBytes: number;
  /** The `Idempotency-Key` header as it came. */
  readonly idempotencyKey: string | undefined;
  /** The form of the answer that the edge was asked for, where it has several: part of what a repetition must repeat. */
  answerForm: string | undefined;
  /** Set where the answer is that of an earlier request under the same key. */
  isReplay: boolean;
  /** The request's record and what it has set aside. */
  readonly metering: Metering;
}

/** An admin call; it belongs to no account and leaves no usage record, but an entry in the audit trail. */
export interface AdminCall {
  /** The id of the admin key, or `cli` for a command on the data folder itself. */
  readonly actor: string;
}

/** Who holds the data folder needs no key. */
export const cliCall: AdminCall = { actor: 'cli' };
