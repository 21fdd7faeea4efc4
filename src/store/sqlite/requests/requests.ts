import type { Count, CountedAmount } from '../../../core/entities/count.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import type {
  FairUseReservation,
  Reservation,
  ReservationStore,
  ReserveOutcome,
} from '../../../core/entities/reservation.ts';
import type { RecordEnd, RecordStart } from '../../../core/entities/usage.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import type { AccountId, RequestId } from '../../../core/values/ids.ts';
import type { Month } from '../../../core/values/month.ts';
import { charge } from '../../decisions.ts';
import { dropUnfinishedClaims } from '../../entities/idempotency.ts';
import { LastUses } from '../../entities/last-uses.ts';
import { startedRecords } from '../../entities/usage-records.ts';
import type { Job } from '../../sql/job.ts';
import { usedUnits } from '../../tables/fair-use.ts';
import { usedAmount } from '../../tables/limit-counts.ts';
import type { Reader } from '../database/reader.ts';
import type { WriteHealth } from '../database/write-health.ts';
import type { Writer } from '../writer/writer.ts';
import { budgetsOf, LimitCounts } from './counts.ts';
import type { Credits } from './credits.ts';
import { ending, extension, interruption, recording, starting } from './jobs.ts';
import { type OpenRequest, openRequest } from './open-request.ts';
import { FairUseUnits } from './units.ts';
import { YoungRequests } from './young-requests.ts';

export interface RequestsDeps {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly health: WriteHealth;
  readonly credits: Credits;
}

/**
 * Running requests. Their reservations are in memory, and each request is written once, at its end: record, debit and balance together.
 * One that runs on, or that streams, first gets a started record, which holds its reservation in the database as well.
 */
export class Requests implements ReservationStore {
  readonly #reader: Reader;
  readonly #writer: Writer;
  readonly #health: WriteHealth;
  readonly #credits: Credits;
  readonly #units: FairUseUnits;
  readonly #counts: LimitCounts;
  readonly #open = new Map<RequestId, OpenRequest>();
  readonly #lastUses = new LastUses();
  readonly #young = new YoungRequests((requests) => this.#writeStarted(requests));

  constructor({ reader, writer, health, credits }: RequestsDeps) {
    this.#reader = reader;
    this.#writer = writer;
    this.#health = health;
    this.#credits = credits;
    this.#units = new FairUseUnits((counter) => reader.get(usedUnits, counter) ?? 0);
    this.#counts = new LimitCounts((count) => reader.get(usedAmount, count));
  }

  async reserve(start: RecordStart, reservation: Reservation): Promise<ReserveOutcome> {
    if (this.#health.isFailing) await this.#health.assertWritable();
    const { fairUse, hold, counted } = reservation;
    const request = openRequest(start, reservation);
    const { counter } = request;
    if (counter && fairUse && !this.#units.reserve(counter, fairUse)) return 'fair_use_limit_reached';
    if (hold && !this.#credits.hold(start.accountId, hold.amount)) {
      if (counter) this.#units.release(counter, request.units);
      return 'insufficient_credits';
    }
    request.counted = counted && this.#counts.reserve(counted);
    if (counted && request.counted === undefined) {
      if (counter) this.#units.release(counter, request.units);
      if (hold) this.#credits.release(start.accountId, hold.amount);
      return 'limit_reached';
    }
    this.#open.set(start.id, request);
    this.#young.add(request);
    return 'reserved';
  }

  recordStarted(id: RequestId): Promise<void> {
    return this.#start(this.#running(id));
  }

  async extend(id: RequestId, fairUse: FairUseReservation): Promise<boolean> {
    const request = this.#running(id);
    const { counter, units } = request;
    if (counter === undefined || !this.#units.extend(counter, units, fairUse)) return false;
    request.units = fairUse.units;
    // A record that is being written has the earlier units.
    if (request.started === undefined) return true;
    try {
      await request.started;
      await this.#writer.run(extension(id, counter, { before: units, after: fairUse.units }));
      return true;
    } catch (error) {
      this.#units.extend(counter, fairUse.units, { ...fairUse, units, limitUnits: Number.POSITIVE_INFINITY });
      request.units = units;
      throw error;
    }
  }

  async extendCounted(id: RequestId, counted: readonly CountedAmount[]): Promise<boolean> {
    const request = this.#running(id);
    const extended = this.#counts.extend(request.counted ?? [], counted);
    if (extended === undefined) return false;
    request.counted = extended;
    return true;
  }

  async taken(counts: readonly Count[]): Promise<readonly bigint[]> {
    return counts.map((count) => this.#counts.taken(count) ?? this.#reader.get(usedAmount, count) ?? 0n);
  }

  async settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd> {
    const request = this.#running(id);
    request.isEnding = true;
    this.#young.delete(request);
    // Only the writer knows whether the started record was written.
    if (request.started !== undefined && !request.isStarted) await request.started.catch(() => undefined);
    const { accountId } = request.start;
    const budgets = budgetsOf(request.counted ?? []);
    const rise = this.#credits.raise(accountId, budgets, (end.cost ?? 0n) - request.hold);
    const recorded = { ...end, ...charge(request.hold + rise, end.cost) };
    try {
      await this.#writer.run(this.#noting(request.start, ending(request, recorded, claim)));
    } catch (error) {
      request.isEnding = false;
      throw error;
    } finally {
      this.#credits.lower(accountId, budgets, rise);
    }
    this.#open.delete(id);
    if (request.price) this.#credits.release(accountId, request.hold, recorded.cost);
    if (request.counter) this.#units.release(request.counter, request.units, recorded.fairUseUnits);
    if (request.counted) this.#counts.release(request.counted, recorded);
    return recorded;
  }

  async record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void> {
    await this.#writer.run(this.#noting(start, recording(start, end, claim)));
  }

  async recover(nowMs: number): Promise<number> {
    const left = this.#reader.all(startedRecords, {});
    const jobs = left.map((record) => this.#writer.run(interruption(record, nowMs)));
    await Promise.all([...jobs, this.#writer.run({ steps: [dropUnfinishedClaims()] })]);
    return left.length;
  }

  async fairUseUnits(accountId: AccountId, month: Month): Promise<number> {
    const counter = { accountId, month };
    return this.#units.taken(counter) ?? this.#reader.get(usedUnits, counter) ?? 0;
  }

  close(): void {
    this.#young.close();
  }

  #noting({ keyId, startedAtMs }: RecordStart, job: Job): Job {
    const use = this.#lastUses.note(keyId, startedAtMs);
    return use.length === 0 ? job : { ...job, steps: [...job.steps, ...use] };
  }

  /** While writes fail, requests stay as they are: their ends are tried again. */
  #writeStarted(requests: readonly OpenRequest[]): void {
    if (this.#health.isFailing) return;
    // A failure is noted where it matters: by a stream that waits for the record, and at the end.
    for (const request of requests) this.#start(request).catch(() => undefined);
  }

  #start(request: OpenRequest): Promise<void> {
    if (request.started !== undefined) return request.started;
    this.#young.delete(request);
    request.started = this.#writer.run(starting(request)).then(
      () => {
        request.isStarted = true;
      },
      (error: unknown) => {
        request.started = undefined;
        throw error;
      },
    );
    return request.started;
  }

  #running(id: RequestId): OpenRequest {
    const request = this.#open.get(id);
    if (request && !request.isEnding) return request;
    throw new ParleyError('internal_error', { cause: new Error(`request ${id} is not running`) });
  }
}
