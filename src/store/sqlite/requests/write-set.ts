/** The writes of requests. */

import type { HeldAmounts } from '../../../core/books/books.ts';
import { debitOf, interruptedEnd, usedOf } from '../../../core/books/settle.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import { answered, type RecordEnd, type RecordStart } from '../../../core/entities/usage.ts';
import type { Price } from '../../../core/values/money.ts';
import { addUsed, openCount } from '../../entities/counts.ts';
import { endClaim } from '../../entities/idempotency.ts';
import { addCredits } from '../../entities/ledger.ts';
import type { StartedRecord } from '../../entities/usage-records.ts';
import { addSum } from '../../entities/usage-sums.ts';
import type { Job, Step } from '../../sql/job.ts';
import type { ReadSet } from './read-set.ts';
import type { Rows } from './rows.ts';

/** The started record, which also holds credits in the database. */
export function starting({ start, reserved: { hold = 0n }, price }: RunningRequest, rows: Rows): Job {
  const additions = hold > 0n ? [addCredits(start.accountId, 0n, hold)] : [];
  return { steps: rows.insertStarted(start, hold, price), additions };
}

interface EndingDeps {
  readonly claim: ClaimEnd | undefined;
  readonly readSet: ReadSet;
  readonly rows: Rows;
}

/** The end of a request: its record, its debit, and the used amounts of its counts. */
export function ending(
  { start: begun, reserved, price, isStarted }: RunningRequest,
  end: RecordEnd,
  { claim, readSet, rows }: EndingDeps,
): Job {
  const start = answered(begun, end);
  const steps: Step[] = isStarted ? rows.endStarted(start.id, end) : rows.insertEnded(start, end, price);
  const debit = debitOf(start, end);
  if (debit) steps.push(...rows.insertEntry(debit));
  if (claim) steps.push(endClaim(claim));
  const held = isStarted ? (reserved.hold ?? 0n) : 0n;
  const additions = addSum(start, end);
  if (debit || held > 0n) additions.push(addCredits(start.accountId, debit?.amount ?? 0n, -held));
  for (const one of reserved.counted) {
    const { name, hasRow } = readSet.count(one);
    if (!hasRow) steps.push(openCount(one));
    const used = usedOf(one, end);
    if (used > 0n) additions.push({ ...addUsed(one, used), name });
  }
  return { steps, additions };
}

/** The record of a request without a reservation. */
export function recording(start: RecordStart, end: RecordEnd, claim: ClaimEnd | undefined, rows: Rows): Job {
  const steps = [...rows.insertEnded(start, end), ...(claim ? [endClaim(claim)] : [])];
  return { steps, additions: addSum(start, end) };
}

/** Ends a request of a dead process. */
export function interruption(record: StartedRecord, nowMs: number, rows: Rows): Job {
  const { id, accountId, hold } = record;
  const end = interruptedEnd(record, nowMs);
  const additions = addSum(record, end);
  if (hold > 0n) additions.push(addCredits(accountId, 0n, -hold));
  return { steps: rows.endStarted(id, end), additions };
}

export interface RunningRequest {
  readonly start: RecordStart;
  reserved: HeldAmounts;
  readonly price: Price | undefined;
  readonly sinceMs: number;
  /** The write of its started record. Undefined if none was begun, or if the last one failed. */
  started: Promise<void> | undefined;
  /** Whether the started record is durable. */
  isStarted: boolean;
  isEnding: boolean;
}

export function runningRequest(
  start: RecordStart,
  reserved: HeldAmounts,
  price: Price | undefined,
): RunningRequest {
  const sinceMs = performance.now();
  return { start, reserved, price, sinceMs, started: undefined, isStarted: false, isEnding: false };
}
