import type { AccountId, RequestId } from '../values/ids.ts';
import type { NanoCredits, Price } from '../values/money.ts';
import type { Month } from '../values/month.ts';
import type { Count, CountedAmount } from './count.ts';
import type { ClaimEnd } from './idempotency.ts';
import type { SharedRates } from './shared-rates.ts';
import type { RecordEnd, RecordStart } from './usage.ts';

/** Fair-use units of a month that a request reserves while it runs. */
export interface FairUseReservation {
  readonly month: Month;
  readonly units: number;
  /** The limit of the month's units, settled and reserved together. */
  readonly limitUnits: number;
}

/** Credits that a chat request holds while it runs, and the prices at its start. */
export interface Hold {
  readonly amount: NanoCredits;
  readonly price: Price;
}

export interface Reservation {
  readonly fairUse?: FairUseReservation | undefined;
  readonly hold?: Hold | undefined;
  /** The `policyVersion` of the key holder who sends the request. */
  readonly policyVersion?: bigint | undefined;
  /** Amounts that count against limits of the key and the account. */
  readonly counted?: readonly CountedAmount[] | undefined;
  /** Rates of the key and the account. A store of one server leaves them to that server. */
  readonly rates?: SharedRates | undefined;
}

/** `policy_changed`: the key holder is outdated, and its rights must be checked again. Nothing was reserved. */
export type ReserveOutcome =
  | 'reserved'
  | 'fair_use_limit_reached'
  | 'insufficient_credits'
  | 'limit_reached'
  | 'rate_reached'
  | 'policy_changed';

/** The life of a request: reserve, then settle or void. */
export interface ReservationStore {
  /**
   * Reserves the units, the hold and the counted amounts of a request, all or nothing: the month's units and the counted amounts stay
   * within their limits, and the holds of an account within its balance, however many requests reserve at once. The reservation ends with the process.
   * @throws `overloaded` while the database cannot be written
   */
  reserve(record: RecordStart, reservation: Reservation): Promise<ReserveOutcome>;
  /** Resolves once the `started` record of a reserved request is durable. A stream awaits this before its first output leaves. */
  recordStarted(id: RequestId): Promise<void>;
  /** Raises the reservation of a running request to `fairUse.units`. False, and no change, if that exceeds the limit. */
  extend(id: RequestId, fairUse: FairUseReservation): Promise<boolean>;
  /** Raises the counted amounts of a running request to these. False, and no change, if that exceeds a limit. */
  extendCounted(id: RequestId, counted: readonly CountedAmount[]): Promise<boolean>;
  /** The sum of used and reserved amounts of each count. */
  taken(counts: readonly Count[]): Promise<readonly bigint[]>;
  /**
   * Ends a reserved request in one write, with its record: releases its reservation, counts `end.fairUseUnits` and what it used of its
   * counted amounts, debits `end.cost` with a ledger
   * entry, and ends the claim of the request if there is one. Without units and cost, this voids the reservation.
   *
   * The debit is at most the hold and what the available credits and the reserved budgets leave; the rest of the cost becomes the overrun.
   * Resolves with the end as it was recorded.
   */
  settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd>;
  /** Writes the record of a request that ended without a reservation. */
  record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void>;
  /**
   * Ends the requests and claims left open by a dead process: records become `interrupted`, at no cost, and keys are free.
   * Called once, when a server starts. Returns the number of requests.
   */
  recover(nowMs: number): Promise<number>;
  /** Units of a month, settled and reserved. */
  fairUseUnits(accountId: AccountId, month: Month): Promise<number>;
}
