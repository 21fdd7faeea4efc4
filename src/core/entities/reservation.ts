import type { ReachedLimit } from '../values/errors.ts';
import type { RequestId } from '../values/ids.ts';
import type { NanoCredits, Price } from '../values/money.ts';
import type { Soon } from '../values/soon.ts';
import type { Count, CountedAmount, CountedUnit } from './count.ts';
import type { ClaimEnd } from './idempotency.ts';
import type { SharedRate, WantedRates } from './rates.ts';
import type { RecordEnd, RecordStart } from './usage.ts';

/** Credits that a chat request holds while it runs, and the prices at its start. */
export interface Hold {
  readonly amount: NanoCredits;
  readonly price: Price;
}

export interface Reservation {
  readonly hold?: Hold | undefined;
  /** Amounts that count against fair use, and against limits of the key and the account. */
  readonly counted?: readonly CountedAmount[] | undefined;
  /** Rates of the key and the account. A store of a single server ignores them, as the server itself checks them. */
  readonly rates?: WantedRates | undefined;
  /** The `policyVersion` of the key holder who sends the request. */
  readonly policyVersion?: bigint | undefined;
}

/** The limit that a request does not fit into. Its owner may be a key before its first rotation; its period is set for counts only. */
export interface LimitReached extends ReachedLimit {
  readonly kind: 'limit_reached';
  /**
   * `balance` is the credits of the account, `credits` a budget. `requests` and `tokens` are per minute, `running` is
   * the number at once.
   */
  readonly unit: CountedUnit | 'balance' | 'requests' | 'running' | 'tokens';
}

/** The reason why nothing was reserved. `policy_changed`: the key holder is outdated, and its rights must be checked again. */
export type Refusal = LimitReached | { readonly kind: 'policy_changed' };

/** @property rates of all servers before this request, if its rates were compared with theirs */
export type ReserveOutcome = (Refusal | { readonly kind: 'reserved' }) & {
  readonly rates?: readonly SharedRate[] | undefined;
};

/** The life of a request: reserve, then settle or void. */
export interface RequestStore {
  /**
   * Reserves the hold, the counted amounts and the rates of a request, all or nothing, however many requests reserve at once. The
   * reservation ends with the process.
   * @throws `overloaded` while the database cannot be written
   */
  reserve(record: RecordStart, reservation: Reservation): Soon<ReserveOutcome>;
  /** Resolves once the `started` record of a reserved request is durable. A stream awaits this before its first output leaves. */
  started(id: RequestId): Promise<void>;
  /** Raises counted amounts of a running request to these. Changes nothing, and returns the limit, if one is exceeded. */
  extend(id: RequestId, counted: readonly CountedAmount[]): Promise<LimitReached | undefined>;
  /** The sum of used and reserved amounts of each count. */
  taken(counts: readonly Count[]): Promise<readonly bigint[]>;
  /**
   * Ends a reserved request in one write, with its record: releases its reservation, counts what it used of its counted amounts, debits
   * `end.cost` with a ledger entry, and ends the claim of the request if there is one. Without units and cost, this voids the reservation.
   *
   * The debit is at most the hold and what the available credits and the reserved budgets leave; the rest of the cost becomes the overrun.
   * Resolves with the end as it was recorded.
   */
  settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd>;
  record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void>;
  /**
   * Ends the requests and claims left open by a dead process: records become `interrupted`, at no cost, and keys are free.
   * Called once, when a server starts. Returns the number of requests.
   */
  recover(nowMs: number): Promise<number>;
}
