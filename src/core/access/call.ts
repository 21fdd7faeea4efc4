import type { Metering } from '../billing/metering.ts';
import type { AccountFacts, Entitlement } from '../entities/account.ts';
import type { Key } from '../entities/key.ts';
import type { Operation, Wire } from '../entities/usage.ts';
import type { CallLimits } from '../limits/call-limits.ts';
import type { KeyId, RequestId } from '../values/ids.ts';
import type { Signal } from '../values/signal.ts';

export interface Caller {
  readonly keyId: KeyId;
  readonly keyName: string;
  /** The name in the audit trail of the person whose session this is. Default: the key's own calls */
  readonly person?: string | undefined;
  readonly account: AccountFacts;
  readonly scopes: Key['scopes'];
  /** Decided when the gate opened the call, for the whole request. */
  readonly entitlement: Entitlement;
  /** Undefined if neither the key nor its account has limits. */
  readonly limits: CallLimits | undefined;
}

export interface Call {
  readonly id: RequestId;
  readonly operation: Operation;
  readonly wire: Wire;
  readonly caller: Caller;
  /** The `Authorization` header as received. Only for sealing the key. */
  readonly authorization: string | undefined;
  /** Aborts when the client has left or the request's time is up. Its reason is a ParleyError. */
  readonly signal: Signal;
  readonly startedAtMs: number;
  /** Bytes of the request's message. The transport sets it once it has read the message. */
  requestBytes: number;
  /** The `Idempotency-Key` header as received. */
  readonly idempotencyKey: string | undefined;
  /** The form of the answer that the client wants, if the transport has several. A repeated request must name the same form. */
  answerForm: string | undefined;
  /** Whether the answer is that of an earlier request with the same Idempotency-Key. */
  isReplay: boolean;
  /**
   * Ends the work when the time of the request is up, if the answer can still end whole. Returns the milliseconds until the signal
   * aborts nevertheless. Default: the signal aborts at once.
   */
  cutShort?: (reason: unknown) => number | undefined;
  /** The request's usage record and its reservation. */
  readonly metering: Metering;
  /** Only for a session, which holds a place among the concurrent requests: its turns are requests of their own. */
  readonly turns: Turns | undefined;
}

/** Asks the gate again, with the key of a session. */
export interface Turns {
  /**
   * Opens a request within the session, as the gate opens any other.
   * @param request Default: the session's own operation and signal
   * @throws the errors of the gate
   */
  open(request?: { readonly operation: Operation; readonly signal: Signal }): Promise<Call>;
  /** Notes for metrics how long after its last audio a turn has its text. */
  noteRecognised(delayMs: number): void;
  /** Checks that the key, the account and the plan are still as they must be. @throws the errors of the gate */
  checkAgain(): Promise<void>;
}

/** An admin call. It belongs to no account and leaves an audit entry instead of a usage record. */
export interface AdminCall {
  /** A person, the id of the admin key, or `cli` for a command on the data folder itself. */
  readonly actor: string;
  /** The admin key, if it has scopes. Default: the call may do everything. */
  readonly scopedKey?: Key | undefined;
  /** As that of `Call`. Default: the call runs to its end. */
  readonly signal?: Signal | undefined;
}

/** A call by an administrator, or with the own key of the account that it is about. */
export type AnyCall = AdminCall | Call;

/** The caller owns the data folder: no key is needed. */
export const cliCall: AdminCall = { actor: 'cli' };
