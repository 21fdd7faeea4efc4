/** Requests as they are written. */

import { usedOf } from '../../../core/entities/count.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import type { RecordEnd, RecordStart } from '../../../core/entities/usage.ts';
import type { AccountId, RequestId } from '../../../core/values/ids.ts';
import { nanoCredits } from '../../../core/values/money.ts';
import { endClaim } from '../../entities/idempotency.ts';
import { addCredits, insertDebit } from '../../entities/ledger.ts';
import {
  endStarted,
  extendStarted,
  insertEnded,
  insertStarted,
  interruptedEnd,
  type StartedRecord,
} from '../../entities/usage-records.ts';
import type { Addition, Job, Step } from '../../sql/job.ts';
import { addUnits, type Counter, openCounter } from '../../tables/fair-use.ts';
import { addUsed, openCount } from '../../tables/limit-counts.ts';
import type { OpenRequest } from './open-request.ts';

/** The started record, whose reservation is then held in the database as well. */
export function starting({ start, hold, price, counter, units }: OpenRequest): Job {
  const record = insertStarted(start, {
    fairUse: counter && { month: counter.month, units, limitUnits: units },
    hold: price && { amount: nanoCredits(hold), price },
  });
  const additions: Addition[] = [];
  if (counter) additions.push(addUnits(counter, 0, units));
  if (hold > 0n) additions.push(addCredits(start.accountId, 0n, hold));
  return { steps: counter ? [openCounter(counter), record] : [record], additions };
}

/** More units for a request with a started record. */
export function extension(id: RequestId, counter: Counter, units: { before: number; after: number }): Job {
  return {
    steps: [extendStarted(id, units.after)],
    additions: [addUnits(counter, 0, units.after - units.before)],
  };
}

/** The end of a request: its record, its debit, and what its started record holds. */
export function ending(request: OpenRequest, end: RecordEnd, claim: ClaimEnd | undefined): Job {
  const { start, price, counter, counted = [], isStarted } = request;
  const { id, accountId, model = '', startedAtMs } = start;
  const steps: Step[] = [];
  if (counter && !isStarted) steps.push(openCounter(counter));
  steps.push(isStarted ? endStarted(id, end) : insertEnded(start, end, price));
  const { cost: amount = nanoCredits(0n) } = end;
  if (amount > 0n) {
    steps.push(
      insertDebit({ requestId: id, accountId, amount, reason: model, atMs: startedAtMs + end.durationMs }),
    );
  }
  if (claim) steps.push(endClaim(claim));
  const held = isStarted ? request : { hold: 0n, units: 0 };
  const additions = booked({ accountId, counter, end, ...held });
  for (const { counted: one, known } of counted) {
    if (!known.hasRow) steps.push(openCount(one));
    const used = usedOf(one, end);
    if (used > 0n) additions.push(addUsed(one, used));
  }
  return { steps, additions };
}

/** The record of a request that reserved nothing. */
export function recording(start: RecordStart, end: RecordEnd, claim: ClaimEnd | undefined): Job {
  return { steps: [insertEnded(start, end), ...(claim ? [endClaim(claim)] : [])] };
}

/** The end of a request whose process died: it costs nothing. */
export function interruption(record: StartedRecord, nowMs: number): Job {
  const { id, accountId, month, hold, units } = record;
  const end = interruptedEnd(record, nowMs);
  const counter = month && { accountId, month };
  return { steps: [endStarted(id, end)], additions: booked({ accountId, counter, end, hold, units }) };
}

interface Booking {
  readonly accountId: AccountId;
  readonly counter: Counter | undefined;
  readonly end: RecordEnd;
  /** The reservation of the started record. */
  readonly hold: bigint;
  readonly units: number;
}

/** Spends what a request used, and returns what its started record holds. */
function booked({ accountId, counter, end, hold, units }: Booking): Addition[] {
  const { cost = 0n, fairUseUnits = 0 } = end;
  const additions: Addition[] = [];
  if (cost > 0n || hold > 0n) additions.push(addCredits(accountId, -cost, -hold));
  if (counter) additions.push(addUnits(counter, fairUseUnits, -units));
  return additions;
}
