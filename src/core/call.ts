/** What an RPC function knows of the request it serves, besides the request's message. */
import type { Entitlement } from './entitlement.ts';
import type { KeyId, RequestId } from './ids.ts';
import type { Metering } from './metering.ts';
import type { Account, Operation, Scope, Wire } from './ports/store.ts';

export interface Caller {
  readonly keyId: KeyId;
  readonly account: Account;
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
  /** The request's record and what it has set aside. */
  readonly metering: Metering;
}

/** A call with an admin key, which belongs to no account and leaves no usage record. */
export interface AdminCall {
  readonly id: RequestId;
  readonly keyId: KeyId;
}
