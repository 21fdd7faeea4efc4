/** Ends requests: their spending, and the release of their reservations. */
import type { CountedAmount } from '../entities/count.ts';
import type { LedgerEntry } from '../entities/ledger.ts';
import { ratedTokens } from '../entities/rates.ts';
import type { Operation, RecordEnd, RecordStart } from '../entities/usage.ts';
import { debitEntryId } from '../values/ids.ts';
import { nanoCredits } from '../values/money.ts';
import type { Books, HeldAmounts } from './books.ts';
import { endRates } from './rates.ts';

/** Settles a request at once. Returns its recorded end. */
export function settle(books: Books, reserved: HeldAmounts, end: RecordEnd): RecordEnd {
  const recorded = charge(books, reserved, end);
  release(books, reserved, recorded);
  return recorded;
}

/** Splits the cost into the debit and the overrun: the debit reaches as far as the hold, the available credits and the budgets. */
export function charge(books: Books, { accountId, hold, counted }: HeldAmounts, end: RecordEnd): RecordEnd {
  const { cost } = end;
  if (cost === undefined || cost <= (hold ?? 0n)) return end;
  let debit = hold ?? 0n;
  if (hold !== undefined) {
    const { balance, held } = books.funds(accountId);
    let rise = least(cost - hold, balance - held);
    for (const one of counted) {
      if (one.unit !== 'credits') continue;
      const { used, reserved } = books.count(one);
      rise = least(rise, one.limit - used - reserved);
    }
    if (rise > 0n) debit += rise;
  }
  return debit === cost ? end : { ...end, cost: nanoCredits(debit), overrun: nanoCredits(cost - debit) };
}

/** The part of a debit that exceeds the hold. */
export function riseOf({ hold = 0n }: HeldAmounts, { cost }: RecordEnd): bigint {
  return cost !== undefined && cost > hold ? cost - hold : 0n;
}

/** Raises a hold and its budgets, so that a debit is covered while it is written. A negative `rise` lowers them again. */
export function raiseHold(books: Books, { accountId, counted }: HeldAmounts, rise: bigint): void {
  if (rise === 0n) return;
  books.funds(accountId).held += rise;
  for (const one of counted) if (one.unit === 'credits') books.count(one).reserved += rise;
}

/** Spends the used amounts of a request, and releases its reservation. @param recorded the end that `charge` returns */
export function release(books: Books, reserved: HeldAmounts, recorded: RecordEnd): void {
  const { accountId, hold, counted, rateUses } = reserved;
  if (hold !== undefined) {
    const funds = books.funds(accountId);
    funds.held -= hold;
    funds.balance -= recorded.cost ?? 0n;
  }
  for (const one of counted) {
    const count = books.count(one);
    count.reserved -= one.amount;
    count.used += usedOf(one, recorded);
  }
  endRates(books, rateUses, ratedTokens(recorded));
}

/** The part of a reserved amount that an ended request has used. A failed one uses nothing but the name of its end user. @param end the recorded end */
export function usedOf({ unit, amount }: CountedAmount, end: RecordEnd): bigint {
  if (unit === 'credits') return end.cost ?? 0n;
  if (unit === 'fair_use') return BigInt(end.fairUseUnits ?? 0);
  if (unit === 'end_users') return amount;
  const { state, firstOutputMs } = end;
  const isCut = (state === 'cancelled' || state === 'refused') && firstOutputMs !== undefined;
  return state === 'ok' || isCut ? amount : 0n;
}

/** The debit of a request; undefined if it costs nothing. */
export function debitOf(
  { id, accountId, model = '', startedAtMs }: Pick<RecordStart, 'id' | 'accountId' | 'model' | 'startedAtMs'>,
  { cost = nanoCredits(0n), durationMs }: RecordEnd,
): LedgerEntry | undefined {
  if (cost === 0n) return undefined;
  const amount = nanoCredits(-cost);
  const createdAtMs = startedAtMs + durationMs;
  return {
    id: debitEntryId(id),
    accountId,
    kind: 'debit',
    amount,
    reason: model,
    reference: id,
    createdAtMs,
  };
}

/** Ends a request of a dead process, at no cost. */
export function interruptedEnd(
  {
    startedAtMs,
    operation,
    hold,
  }: { readonly startedAtMs: number; readonly operation: Operation; readonly hold: bigint },
  nowMs: number,
): RecordEnd {
  return {
    state: 'interrupted',
    httpStatus: 500,
    code: 'internal_error',
    durationMs: Math.max(0, nowMs - startedAtMs),
    firstOutputMs: undefined,
    audioMsIn: undefined,
    audioMsOut: undefined,
    tokens: undefined,
    fairUseUnits: operation === 'speech' || operation === 'transcription' ? 0 : undefined,
    cost: undefined,
    overrun: undefined,
    reserved: hold === 0n ? undefined : nanoCredits(hold),
  };
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
