import type { Month } from '../billing/fair-use.ts';
import type { NanoCredits, Price } from '../billing/money.ts';
import type { AccountId, RequestId } from '../ids.ts';
import type { ClaimEnd } from './idempotency.ts';
import type { RecordEnd, RecordStart } from './usage.ts';

/** Units of a month's allowance that a request sets aside while it runs. */
export interface FairUseReservation {
  readonly month: Month;
  readonly units: number;
  /** All units of the month, settled and reserved, stay at or below this. */
  readonly limitUnits: number;
}

/** Credits that a chat request sets aside while it runs, with the prices of that moment. */
export interface Hold {
  readonly amount: NanoCredits;
  readonly price: Price;
}

export interface Reservation {
  readonly fairUse?: FairUseReservation | undefined;
  readonly hold?: Hold | undefined;
}

export type ReserveOutcome = 'reserved' | 'fair_use_limit_reached' | 'insufficient_credits';

/** The life of a request: reserve, then settle or void. */
export interface ReservationStore {
  /**
   * Writes a request's record as `started` and sets aside its units and its hold: all or nothing. The guards are part of
   * the write: the month's units stay at or below the limit, and what is held at or below the balance.
   */
  reserve(record: RecordStart, reservation: Reservation): Promise<ReserveOutcome>;
  /** Raises what a started request has set aside to `fairUse.units`. False, and no change, where that passes the limit. */
  extend(id: RequestId, fairUse: FairUseReservation): Promise<boolean>;
  /**
   * Ends a started record in one write: gives back what it had set aside, spends `end.fairUseUnits`, and debits
   * `end.cost` with an entry of the ledger. The claim of the request, where it has one, ends with it.
   */
  settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<void>;
  /** Writes the record of a request that ended without being admitted. */
  record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void>;
  /**
   * Ends every request that is still started as `interrupted`, free of charge, and frees every unfinished claim. Called once, at
   * the start of a server. Returns the number of requests.
   */
  recover(nowMs: number): Promise<number>;
  /** Units of a month, settled and reserved. */
  fairUseUnits(accountId: AccountId, month: Month): Promise<number>;
}
