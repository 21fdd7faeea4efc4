/** The writes of requests. */

import { debitOf, interruptedEnd, usedOf } from '../../../core/books/settle.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import type { RecordEnd, RecordStart } from '../../../core/entities/usage.ts';
import { addUsed, openCount } from '../../entities/counts.ts';
import { endClaim } from '../../entities/idempotency.ts';
import { addCredits, insertEntry } from '../../entities/ledger.ts';
import { endStarted, insertEnded, insertStarted, type StartedRecord } from '../../entities/usage-records.ts';
import type { Addition, Job, Step } from '../../sql/job.ts';
import type { ReadSet } from './read-set.ts';
import type { RunningRequest } from './running-request.ts';

/** The started record, whose hold is then in the database as well. */
export function starting({ start, reserved: { hold = 0n }, price }: RunningRequest): Job {
  const additions = hold > 0n ? [addCredits(start.accountId, 0n, hold)] : [];
  return { steps: [insertStarted(start, hold, price)], additions };
}

/** The end of a request: its record, its debit, and what it has used of its counts. */
export function ending(
  { start, reserved, price, isStarted }: RunningRequest,
  end: RecordEnd,
  { claim, readSet }: { readonly claim: ClaimEnd | undefined; readonly readSet: ReadSet },
): Job {
  const steps: Step[] = [isStarted ? endStarted(start.id, end) : insertEnded(start, end, price)];
  const debit = debitOf(start, end);
  if (debit) steps.push(insertEntry(debit));
  if (claim) steps.push(endClaim(claim));
  const held = isStarted ? (reserved.hold ?? 0n) : 0n;
  const additions: Addition[] = [];
  if (debit || held > 0n) additions.push(addCredits(start.accountId, debit?.amount ?? 0n, -held));
  for (const one of reserved.counted) {
    if (!readSet.count(one).hasRow) steps.push(openCount(one));
    const used = usedOf(one, end);
    if (used > 0n) additions.push(addUsed(one, used));
  }
  return { steps, additions };
}

/** The record of a request that reserved nothing. */
export function recording(start: RecordStart, end: RecordEnd, claim: ClaimEnd | undefined): Job {
  return { steps: [insertEnded(start, end), ...(claim ? [endClaim(claim)] : [])] };
}

/** The end of a request whose process died. */
export function interruption(record: StartedRecord, nowMs: number): Job {
  const { id, accountId, hold } = record;
  const additions = hold > 0n ? [addCredits(accountId, 0n, -hold)] : [];
  return { steps: [endStarted(id, interruptedEnd(record, nowMs))], additions };
}
