import { type HeldAmounts, none } from '../../../core/books/books.ts';
import { sharedRates } from '../../../core/books/rates.ts';
import { extend, isRefusal, reserve } from '../../../core/books/reserve.ts';
import { debitOf, settle } from '../../../core/books/settle.ts';
import type { Count, CountedAmount } from '../../../core/entities/count.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import type {
  LimitReached,
  RequestStore,
  Reservation,
  ReserveOutcome,
} from '../../../core/entities/reservation.ts';
import { answered, type RecordEnd, type RecordStart } from '../../../core/entities/usage.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import type { RequestId } from '../../../core/values/ids.ts';
import { countedToText, countsOfOwners } from '../../entities/counts.ts';
import { LastUses } from '../../entities/keys.ts';
import { endedRow, endRow, startedRow } from '../../entities/usage-records.ts';
import type { Executor } from '../../sql/executor.ts';
import { unusable } from '../database/storage-failures.ts';
import type { Groups, Operation } from './groups.ts';
import type { ReadSet, StoredRecord } from './read-set.ts';
import { rateUsesToText } from './read-set.ts';
import type { WriteSet } from './write-set.ts';

interface RequestsDeps {
  readonly executor: Executor;
  readonly groups: Groups;
  /** Called when a cached key holder was outdated. */
  readonly policyChanged: () => void;
  readonly recover: (nowMs: number) => Promise<number>;
}

/** Running requests of this node. Each operation on one decides in a transaction that it shares with other operations. */
export class Requests implements RequestStore {
  readonly #deps: RequestsDeps;
  readonly #lastUses = new LastUses();
  readonly #running = new Map<RequestId, RunningRequest>();
  readonly recover: RequestStore['recover'];

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
    this.recover = deps.recover;
  }

  async reserve(start: RecordStart, reservation: Reservation): Promise<ReserveOutcome> {
    const reserving = this.#deps.groups.run(reservingOf(start, reservation));
    const request = runningRequest(start, reservation, reserving);
    this.#running.set(start.id, request);
    // If this fails, the request stays open: it may have been written, which only its record shows.
    const outcome = await reserving;
    request.isReserved = outcome.kind === 'reserved';
    if (!request.isReserved) this.#running.delete(start.id);
    if (outcome.kind === 'policy_changed') this.#deps.policyChanged();
    return outcome;
  }

  async started(id: RequestId): Promise<void> {
    // The reservation has written the record.
    this.#get(id);
  }

  async extend(id: RequestId, counted: readonly CountedAmount[]): Promise<LimitReached | undefined> {
    const request = this.#get(id);
    return this.#follow(request, extendingOf(request, counted));
  }

  async taken(counts: readonly Count[]): Promise<readonly bigint[]> {
    const owners = [...new Set(counts.map(({ owner }) => owner))];
    const periods = [...new Set(counts.map(({ period }) => period))];
    const rows = await this.#deps.executor.all(countsOfOwners, { owners, periods });
    const nameOf = ({ owner, unit, period }: Record<keyof Count, string>) => `${owner} ${unit} ${period}`;
    const taken = new Map(rows.map((row) => [nameOf(row), row.used + row.reserved]));
    return counts.map((count) => taken.get(nameOf(count)) ?? 0n);
  }

  async settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd> {
    const request = this.#get(id);
    const recorded = await this.#follow(
      request,
      this.#noting(request.start, settlingOf(request, end, claim)),
    );
    this.#running.delete(id);
    return recorded;
  }

  async record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void> {
    const doubted = this.#running.get(start.id);
    const operation = this.#noting(start, recordingOf(start, end, { claim, doubted }));
    if (doubted === undefined) return this.#deps.groups.run(operation);
    await this.#follow(doubted, operation);
    this.#running.delete(start.id);
  }

  /** Whether no request is running. */
  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Notes the last use of the key with the operation, once a minute. */
  #noting<Value>({ keyId, startedAtMs }: RecordStart, operation: Operation<Value>): Operation<Value> {
    const usedAtMs = this.#lastUses.note(keyId, startedAtMs);
    if (usedAtMs === undefined) return operation;
    return {
      ...operation,
      decide(rows, writes, epoch) {
        writes.usedKeys.set(keyId, usedAtMs);
        return operation.decide(rows, writes, epoch);
      },
    };
  }

  /** Runs an operation after the last one on the request. */
  #follow<Value>(request: RunningRequest, operation: Operation<Value>): Promise<Value> {
    const next = request.last.catch(() => undefined).then(() => this.#deps.groups.run(operation));
    request.last = next;
    return next;
  }

  #get(id: RequestId): RunningRequest {
    const request = this.#running.get(id);
    if (request?.isReserved) return request;
    throw notRunning(id);
  }
}

function reservingOf(start: RecordStart, reservation: Reservation): Operation<ReserveOutcome> {
  const { accountId, id } = start;
  const { counted, rates, hold } = reservation;
  return {
    accountId,
    counted,
    rated: rates?.owners.map((owner) => owner.id),
    recordId: id,
    isAdmission: true,
    decide(rows, writes, epoch) {
      const earlier = rows.record(id);
      if (earlier?.state === 'started') return { kind: 'reserved' };
      if (earlier) throw unusable(new Error('the request was released after an earlier attempt'));
      // Throws if the account is missing, as records have no foreign key here.
      rows.funds(accountId);
      const before = rates && sharedRates(rows, rates);
      const outcome = reserve(rows, accountId, reservation);
      if (isRefusal(outcome)) return { ...outcome, rates: before };
      const texts = { counted: countedToText(outcome.counted), rate_uses: rateUsesToText(outcome.rateUses) };
      const row = startedRow(start, outcome.hold ?? 0n, hold?.price);
      writes.insertedRecords.push({ ...row, ...texts, node_epoch: epoch });
      return { kind: 'reserved', rates: before };
    },
  };
}

function extendingOf(
  { start: { id, accountId } }: RunningRequest,
  counted: readonly CountedAmount[],
): Operation<LimitReached | undefined> {
  return {
    accountId,
    counted,
    recordId: id,
    hasRecord: true,
    decide(rows, writes) {
      const record = rows.record(id);
      if (record === undefined) throw notRunning(id);
      if (record.state !== 'started') throw endedElsewhere(id);
      const outcome = extend(rows, record.reserved, counted);
      if (isRefusal(outcome)) return outcome;
      record.reserved = outcome;
      writes.extendedRecords.set(id, countedToText(outcome.counted));
      return undefined;
    },
  };
}

/** The end of a running request. */
export function settlingOf(
  request: Pick<RunningRequest, 'holdsCredits' | 'counted' | 'rated' | 'reserved'> & {
    readonly start: Ended;
  },
  end: RecordEnd,
  claim?: ClaimEnd,
): Operation<RecordEnd> {
  const { start, holdsCredits, counted, rated, reserved } = request;
  const isCharged = holdsCredits || counted.length > 0 || rated.length > 0;
  return {
    accountId: isCharged ? start.accountId : undefined,
    counted,
    rated,
    recordId: start.id,
    hasRecord: true,
    reserved,
    decide(rows, writes) {
      const record = rows.record(start.id);
      if (record === undefined) throw notRunning(start.id);
      if (record.state !== 'started') return endBefore(record, start.id, end);
      return endRecord({ rows, writes, record }, start, { end, claim });
    },
  };
}

/**
 * The record of a request without a reservation.
 * @param doubted the reservation of an earlier attempt, which may have been written
 */
function recordingOf(
  start: RecordStart,
  end: RecordEnd,
  { claim, doubted }: { readonly claim: ClaimEnd | undefined; readonly doubted: RunningRequest | undefined },
): Operation<void> {
  return {
    accountId: doubted && start.accountId,
    counted: doubted?.counted,
    rated: doubted?.rated,
    recordId: start.id,
    hasRecord: doubted !== undefined,
    decide(rows, writes, epoch) {
      const record = rows.record(start.id);
      if (record?.state === 'started' && doubted) endRecord({ rows, writes, record }, start, { end, claim });
      if (record !== undefined) return;
      writes.insertedRecords.push({ ...endedRow(start, end, undefined), node_epoch: epoch });
      writes.addSum(start, end);
      if (claim) writes.claimEnds.push(claim);
    },
  };
}

/** A request that ends. That of a dead node has no wire. */
type Ended = Omit<RecordStart, 'wire'>;

interface Settled {
  readonly rows: ReadSet;
  readonly writes: WriteSet;
  readonly record: StoredRecord;
}

function endRecord(
  { rows, writes, record }: Settled,
  start: Ended,
  { end, claim }: { readonly end: RecordEnd; readonly claim: ClaimEnd | undefined },
): RecordEnd {
  const recorded = settle(rows, record.reserved, end);
  const ended = answered(start, recorded);
  const debit = debitOf(ended, recorded);
  if (debit) writes.insertedEntries.push(debit);
  record.state = recorded.state;
  writes.endedRecords.push({ id: start.id, ...endRow(recorded), model: recorded.model });
  writes.addSum(ended, recorded);
  if (claim) writes.claimEnds.push(claim);
  return recorded;
}

/**
 * An earlier attempt took effect, or another node released the request after this one seemed dead. In that case the
 * request has cost nothing.
 */
function endBefore({ state, cost, overrun }: StoredRecord, id: RequestId, end: RecordEnd): RecordEnd {
  if (state === end.state) return { ...end, cost, overrun };
  if (end.cost === undefined && !end.fairUseUnits) return end;
  throw endedElsewhere(id);
}

/** This node seemed dead, so another one has released the request, at no cost. The client may send it again. */
function endedElsewhere(id: RequestId): ParleyError {
  return unusable(new Error(`another node has ended request ${id}`));
}

function notRunning(id: RequestId): ParleyError {
  return new ParleyError('internal_error', { cause: new Error(`request ${id} is not running`) });
}

interface RunningRequest {
  readonly start: RecordStart;
  readonly holdsCredits: boolean;
  readonly counted: readonly CountedAmount[];
  /** The keys and accounts whose rates the request used. */
  readonly rated: readonly string[];
  /** The reservation, if it is known and only holds credits. */
  readonly reserved?: HeldAmounts | undefined;
  /** The latest operation on the request. The next one begins after it. */
  last: Promise<unknown>;
  /** Whether it is reserved; false while that is uncertain. */
  isReserved: boolean;
}

function runningRequest(
  start: RecordStart,
  { hold, counted = [], rates }: Reservation,
  last: Promise<unknown>,
): RunningRequest {
  const rated = rates?.owners.map(({ id }) => id) ?? [];
  const isPlain = hold !== undefined && counted.length === 0 && rates === undefined;
  const reserved = isPlain
    ? { accountId: start.accountId, hold: hold.amount, counted: none, rateUses: none }
    : undefined;
  return { start, holdsCredits: hold !== undefined, counted, rated, reserved, last, isReserved: false };
}
