import { extend, isRefusal, reserve } from '../../../core/books/reserve.ts';
import { charge, raiseHold, release, riseOf } from '../../../core/books/settle.ts';
import type { Count, CountedAmount } from '../../../core/entities/count.ts';
import type { ClaimEnd } from '../../../core/entities/idempotency.ts';
import type {
  LimitReached,
  RequestStore,
  Reservation,
  ReserveOutcome,
} from '../../../core/entities/reservation.ts';
import type { RecordEnd, RecordStart } from '../../../core/entities/usage.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import type { RequestId } from '../../../core/values/ids.ts';
import type { Soon } from '../../../core/values/soon.ts';
import { dropUnfinishedClaims } from '../../entities/idempotency.ts';
import { LastUses, noteKeyUse } from '../../entities/keys.ts';
import type { Job } from '../../sql/job.ts';
import type { Reader } from '../database/reader.ts';
import type { WriteHealth } from '../database/write-health.ts';
import type { Writer } from '../writer/writer.ts';
import type { ReadSet } from './read-set.ts';
import { type Rows, startedRecords } from './rows.ts';
import {
  ending,
  interruption,
  type RunningRequest,
  recording,
  runningRequest,
  starting,
} from './write-set.ts';

export interface RequestsDeps {
  readonly reader: Reader;
  readonly writer: Writer;
  readonly health: WriteHealth;
  readonly readSet: ReadSet;
  readonly rows: Rows;
}

/**
 * Running requests. Their reservations are in memory, and each request is written once, at its end: record, debit and
 * balance together. A long or streaming request first gets a started record, which also holds its credits in the
 * database.
 */
export class Requests implements RequestStore {
  readonly #reader: Reader;
  readonly #writer: Writer;
  readonly #health: WriteHealth;
  readonly #readSet: ReadSet;
  readonly #rows: Rows;
  readonly #running = new Map<RequestId, RunningRequest>();
  readonly #lastUses = new LastUses();
  readonly #unwritten = new UnwrittenRequests((requests) => this.#writeStarted(requests));

  constructor({ reader, writer, health, readSet, rows }: RequestsDeps) {
    this.#reader = reader;
    this.#writer = writer;
    this.#health = health;
    this.#readSet = readSet;
    this.#rows = rows;
  }

  reserve(start: RecordStart, reservation: Reservation): Soon<ReserveOutcome> {
    if (!this.#health.isFailing) return this.#reserve(start, reservation);
    return this.#health.assertWritable().then(() => this.#reserve(start, reservation));
  }

  #reserve(start: RecordStart, reservation: Reservation): ReserveOutcome {
    this.#readSet.trim();
    const { counted = [] } = reservation;
    const wanted =
      counted.length === 0 ? reservation : { ...reservation, counted: this.#readSet.found(counted) };
    const outcome = reserve(this.#readSet, start.accountId, wanted);
    if (isRefusal(outcome)) return outcome;
    this.#readSet.use(outcome);
    const request = runningRequest(start, outcome, reservation.hold?.price);
    this.#running.set(start.id, request);
    this.#unwritten.add(request);
    return { kind: 'reserved' };
  }

  started(id: RequestId): Promise<void> {
    return this.#start(this.#get(id));
  }

  async extend(id: RequestId, counted: readonly CountedAmount[]): Promise<LimitReached | undefined> {
    const request = this.#get(id);
    const outcome = extend(this.#readSet, request.reserved, this.#readSet.found(counted));
    if (isRefusal(outcome)) return outcome;
    request.reserved = outcome;
    return undefined;
  }

  async taken(counts: readonly Count[]): Promise<readonly bigint[]> {
    return counts.map((count) => this.#readSet.taken(count));
  }

  async settle(id: RequestId, end: RecordEnd, claim?: ClaimEnd): Promise<RecordEnd> {
    const request = this.#get(id);
    request.isEnding = true;
    this.#unwritten.delete(request);
    // Only the writer knows whether the started record was written.
    if (request.started !== undefined && !request.isStarted) await request.started.catch(() => undefined);
    const { start, reserved } = request;
    const recorded = charge(this.#readSet, reserved, end);
    // Holds the whole debit until it is durable.
    const rise = riseOf(reserved, recorded);
    raiseHold(this.#readSet, reserved, rise);
    try {
      const job = ending(request, recorded, { claim, readSet: this.#readSet, rows: this.#rows });
      await this.#writer.run(this.#noting(start, job));
    } catch (error) {
      request.isEnding = false;
      throw error;
    } finally {
      raiseHold(this.#readSet, reserved, -rise);
    }
    this.#running.delete(id);
    release(this.#readSet, reserved, recorded);
    this.#readSet.release(reserved);
    return recorded;
  }

  async record(start: RecordStart, end: RecordEnd, claim?: ClaimEnd): Promise<void> {
    await this.#writer.run(this.#noting(start, recording(start, end, claim, this.#rows)));
  }

  async recover(nowMs: number): Promise<number> {
    const left = this.#reader.all(startedRecords, {});
    const jobs = left.map((record) => this.#writer.run(interruption(record, nowMs, this.#rows)));
    await Promise.all([...jobs, this.#writer.run({ steps: [dropUnfinishedClaims()] })]);
    return left.length;
  }

  close(): void {
    this.#unwritten.close();
  }

  #noting({ keyId, startedAtMs }: RecordStart, job: Job): Job {
    const usedAtMs = this.#lastUses.note(keyId, startedAtMs);
    return usedAtMs === undefined ? job : { ...job, steps: [...job.steps, noteKeyUse(keyId, usedAtMs)] };
  }

  /** While writes fail, requests stay running, and their ends are tried again. */
  #writeStarted(requests: readonly RunningRequest[]): void {
    if (this.#health.isFailing) return;
    // The failure is handled elsewhere: by a stream that waits for the record, and at the end.
    for (const request of requests) this.#start(request).catch(() => undefined);
  }

  #start(request: RunningRequest): Promise<void> {
    if (request.started !== undefined) return request.started;
    this.#unwritten.delete(request);
    request.started = this.#writer.run(starting(request, this.#rows)).then(
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

  #get(id: RequestId): RunningRequest {
    const request = this.#running.get(id);
    if (request && !request.isEnding) return request;
    throw new ParleyError('internal_error', { cause: new Error(`request ${id} is not running`) });
  }
}

/** A request that runs longer gets a started record, so that a killed server leaves a record of it. */
const unwrittenMsMax = 25;

/** Requests without a started record, in the order of their arrival. */
class UnwrittenRequests {
  readonly #write: (requests: readonly RunningRequest[]) => void;
  readonly #requests = new Set<RunningRequest>();
  #timer: NodeJS.Timeout | undefined;

  /** @param write called with requests that have run for `unwrittenMsMax` */
  constructor(write: (requests: readonly RunningRequest[]) => void) {
    this.#write = write;
  }

  add(request: RunningRequest): void {
    this.#requests.add(request);
    this.#timer ??= setTimeout(() => this.#writeDue(), unwrittenMsMax).unref();
  }

  delete(request: RunningRequest): void {
    this.#requests.delete(request);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#requests.clear();
  }

  #writeDue(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    const due: RunningRequest[] = [];
    for (const request of this.#requests) {
      const leftMs = request.sinceMs + unwrittenMsMax - nowMs;
      if (leftMs > 0) {
        this.#timer = setTimeout(() => this.#writeDue(), leftMs).unref();
        break;
      }
      due.push(request);
    }
    for (const request of due) this.#requests.delete(request);
    if (due.length > 0) this.#write(due);
  }
}
