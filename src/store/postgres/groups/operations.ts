/** The operations that share transactions. Each decides on the rows that were read for it, and changes nothing if it refuses. */

import type { AuditEntry } from '../../../core/entities/audit.ts';
import { type CountedAmount, fits, usedOf } from '../../../core/entities/count.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import type { EntryOutcome, LedgerEntry } from '../../../core/entities/ledger.ts';
import type { FairUseReservation, Reservation, ReserveOutcome } from '../../../core/entities/reservation.ts';
import { endRateUse, ratedTokens } from '../../../core/entities/shared-rates.ts';
import type { RecordEnd, RecordStart } from '../../../core/entities/usage.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import { type AccountId, debitEntryId, type RequestId } from '../../../core/values/ids.ts';
import { nanoCredits, nanoCreditsMax } from '../../../core/values/money.ts';
import { charge, holdCredits, lowerHold, raiseHold, reserveUnits } from '../../decisions.ts';
import { endedRow, endRow, startedRow } from '../../entities/usage-records.ts';
import { step } from '../../sql/job.ts';
import type { Counter } from '../../tables/fair-use.ts';
import { countedToText } from '../../tables/limit-counts.ts';
import { forgetRateUses, rateUsesToText } from '../../tables/rate-uses.ts';
import { unusable } from '../database/storage-failures.ts';
import type { Books, StoredRecord } from './books.ts';

export interface Operation<Outcome> {
  /** The account to lock. Undefined if none is charged. */
  readonly accountId: AccountId | undefined;
  /** The counter to read. */
  readonly counter?: Counter | undefined;
  /** The counts to read. */
  readonly counted?: readonly CountedAmount[] | undefined;
  /** The keys and accounts whose rates to read. */
  readonly rated?: readonly string[] | undefined;
  /** The record that it begins or changes. */
  readonly recordId?: RequestId;
  /** Whether that record is there, or may be. */
  readonly hasRecord?: boolean;
  /** Whether a client waits to be admitted. */
  readonly isAdmission?: boolean;
  /** The load or adjustment that it enters. */
  readonly entry?: LedgerEntry;
  /** @param epoch of this node */
  decide(books: Books, epoch: bigint): Outcome;
}

/** A running request: what an operation has to lock and to read for it. */
export interface OpenRequest {
  readonly start: Pick<RecordStart, 'id' | 'accountId' | 'model' | 'startedAtMs'>;
  readonly counter: Counter | undefined;
  readonly holdsCredits: boolean;
  readonly counted?: readonly CountedAmount[] | undefined;
  readonly rated?: readonly string[] | undefined;
}

export function reserving(start: RecordStart, reservation: Reservation): Operation<ReserveOutcome> {
  const { accountId, id } = start;
  const { fairUse, hold, policyVersion, counted = [], rates } = reservation;
  const counter = fairUse && { accountId, month: fairUse.month };
  return {
    accountId,
    counter,
    counted,
    rated: rates?.owners,
    recordId: id,
    isAdmission: true,
    decide(books, epoch) {
      const earlier = books.record(id);
      if (earlier?.state === 'started') return 'reserved';
      if (earlier) throw unusable(new Error('the request was released after an earlier attempt'));
      const meterOf = (owner: string) => books.meter(owner);
      rates?.tell(meterOf);
      const funds = books.funds(accountId);
      if (policyVersion !== undefined && policyVersion !== funds.policyVersion) return 'policy_changed';
      const units = counter && books.units(counter);
      if (units && fairUse && !reserveUnits({ ...units }, fairUse)) return 'fair_use_limit_reached';
      if (hold && funds.balance - funds.held < hold.amount) return 'insufficient_credits';
      if (!fitCounts(books, counted)) return 'limit_reached';
      const rateUses = rates ? rates.take(meterOf) : [];
      if (rateUses === undefined) return 'rate_reached';
      takeCounts(books, counted);
      if (hold) holdCredits(funds, hold.amount);
      if (units && fairUse) reserveUnits(units, fairUse);
      const texts = { counted: countedToText(counted), rate_uses: rateUsesToText(rateUses) };
      books.insertedRecords.push({ ...startedRow(start, reservation), ...texts, node_epoch: epoch });
      return 'reserved';
    },
  };
}

export function extending({ start, counter }: OpenRequest, fairUse: FairUseReservation): Operation<boolean> {
  const { id, accountId } = start;
  return {
    accountId,
    counter,
    recordId: id,
    hasRecord: true,
    decide(books) {
      const record = runningRecord(books, id);
      if (counter === undefined) return false;
      if (!reserveUnits(books.units(counter), fairUse, record.units)) return false;
      record.units = fairUse.units;
      books.extendedRecords.set(id, fairUse.units);
      return true;
    },
  };
}

/** Raises the counted amounts of a running request. */
export function extendingCounts(
  { start: { id, accountId } }: OpenRequest,
  counted: readonly CountedAmount[],
): Operation<boolean> {
  return {
    accountId,
    counted,
    recordId: id,
    hasRecord: true,
    decide(books) {
      const record = runningRecord(books, id);
      // An earlier attempt may have taken effect: the record says what is reserved.
      const { counted: before = [] } = record;
      const more = counted.map((one, at) => ({ ...one, amount: one.amount - (before[at]?.amount ?? 0n) }));
      if (!fitCounts(books, more)) return false;
      takeCounts(books, more);
      record.counted = counted;
      books.extendedCounts.set(id, countedToText(counted));
      return true;
    },
  };
}

function fitCounts(books: Books, counted: readonly CountedAmount[]): boolean {
  return counted.every((one) => fits(books.count(one), one.amount, one.limit));
}

function takeCounts(books: Books, counted: readonly CountedAmount[]): void {
  for (const one of counted) books.count(one).reserved += one.amount;
}

/** The end of a running request. */
export function settling(request: OpenRequest, end: RecordEnd, claim?: ClaimEnd): Operation<RecordEnd> {
  const { start, counter, holdsCredits, counted = [], rated = [] } = request;
  const isCharged = counter !== undefined || holdsCredits || counted.length > 0 || rated.length > 0;
  return {
    accountId: isCharged ? start.accountId : undefined,
    counter,
    counted,
    rated,
    recordId: start.id,
    hasRecord: true,
    decide(books) {
      const record = books.record(start.id);
      if (record === undefined) throw notRunning(start.id);
      return record.state === 'started'
        ? settle(books, { request, record, end, claim })
        : endBefore(record, start.id, end);
    },
  };
}

interface RatedRecord extends Pick<RecordStart, 'id' | 'accountId'> {
  /** The keys and accounts whose rates it has taken. */
  readonly rated: readonly string[];
}

/** Gives back the rates of a request that a version without rates has ended. */
export function givingBackRates({ id, accountId, rated }: RatedRecord): Operation<void> {
  return {
    ...{ accountId, rated, recordId: id, hasRecord: true },
    decide(books) {
      const { state, rateUses = [] } = books.record(id) ?? {};
      if (state === 'started') return;
      for (const use of rateUses) endRateUse(use, books.meter(use.owner), 0);
      books.steps.push(step(forgetRateUses, { id }));
    },
  };
}

/**
 * The record of a request without a reservation.
 * @param doubted the reservation of an earlier attempt, of which nobody knows whether it was written
 */
export function recording(
  start: RecordStart,
  end: RecordEnd,
  { claim, doubted }: { readonly claim?: ClaimEnd | undefined; readonly doubted?: OpenRequest | undefined },
): Operation<void> {
  return {
    accountId: doubted && start.accountId,
    counter: doubted?.counter,
    counted: doubted?.counted,
    rated: doubted?.rated,
    recordId: start.id,
    hasRecord: doubted !== undefined,
    decide(books, epoch) {
      const record = books.record(start.id);
      if (record?.state === 'started' && doubted) settle(books, { request: doubted, record, end, claim });
      if (record !== undefined) return;
      books.insertedRecords.push({ ...endedRow(start, end, undefined), node_epoch: epoch });
      if (claim) books.claimEnds.push(claim);
    },
  };
}

/** A load or an adjustment. */
export function entering(entry: LedgerEntry, audit: AuditEntry): Operation<EntryOutcome> {
  const { accountId, amount } = entry;
  return {
    accountId,
    entry,
    decide(books) {
      const earlier = books.entry(entry);
      if (earlier) return isSame(earlier, entry) ? 'entered' : 'conflict';
      const funds = books.funds(accountId);
      if (amount < 0n && funds.balance - funds.held < -amount) return 'insufficient_credits';
      if (funds.balance + amount > nanoCreditsMax) return 'balance_too_large';
      books.funds(accountId).balance += amount;
      books.insertEntry(entry);
      books.audits.push(audit);
      return 'entered';
    },
  };
}

interface Settlement {
  readonly request: OpenRequest;
  readonly record: StoredRecord;
  readonly end: RecordEnd;
  readonly claim: ClaimEnd | undefined;
}

/** Spends what a request used, and returns what its record holds. */
function settle(books: Books, { request, record, end, claim }: Settlement): RecordEnd {
  const { start, counter, holdsCredits } = request;
  const { id, accountId, model = '', startedAtMs } = start;
  let recorded = end;
  if (holdsCredits) {
    const funds = books.funds(accountId);
    const credits = (record.counted ?? []).filter(({ unit }) => unit === 'credits');
    const budgets = credits.map((one) => ({ count: books.count(one), limit: one.limit }));
    const rise = raiseHold(funds, budgets, (end.cost ?? 0n) - record.hold);
    recorded = { ...end, ...charge(record.hold + rise, end.cost) };
    lowerHold(funds, budgets, rise);
    const { cost = nanoCredits(0n) } = recorded;
    funds.held -= record.hold;
    funds.balance -= cost;
    const entry = { id: debitEntryId(id), accountId, kind: 'debit', reason: model, reference: id } as const;
    const createdAtMs = startedAtMs + end.durationMs;
    if (cost > 0n) books.insertEntry({ ...entry, amount: nanoCredits(-cost), createdAtMs });
  } else recorded = { ...end, ...charge(0n, end.cost) };
  if (counter) {
    const units = books.units(counter);
    units.reserved -= record.units;
    units.used += recorded.fairUseUnits ?? 0;
  }
  for (const one of record.counted ?? []) {
    const count = books.count(one);
    count.reserved -= one.amount;
    count.used += usedOf(one, recorded);
  }
  for (const use of record.rateUses) endRateUse(use, books.meter(use.owner), ratedTokens(recorded));
  record.state = recorded.state;
  books.endedRecords.push({ id, ...endRow(recorded) });
  if (claim) books.claimEnds.push(claim);
  return recorded;
}

/** An earlier attempt took effect, or another node released the request after this one seemed dead: then it has cost nothing. */
function endBefore({ state, cost, overrun }: StoredRecord, id: RequestId, end: RecordEnd): RecordEnd {
  if (state === end.state) return { ...end, cost, overrun };
  if (end.cost === undefined && !end.fairUseUnits) return end;
  throw endedElsewhere(id);
}

function runningRecord(books: Books, id: RequestId): StoredRecord {
  const record = books.record(id);
  if (record === undefined) throw notRunning(id);
  if (record.state !== 'started') throw endedElsewhere(id);
  return record;
}

/** This node seemed dead, so another one has released the request. The client may send it again: it has cost nothing. */
function endedElsewhere(id: RequestId): ParleyError {
  return unusable(new Error(`another node has ended request ${id}`));
}

function notRunning(id: RequestId): ParleyError {
  return new ParleyError('internal_error', { cause: new Error(`request ${id} is not running`) });
}

function isSame(one: LedgerEntry, other: LedgerEntry): boolean {
  return one.kind === other.kind && one.amount === other.amount && one.reason === other.reason;
}
