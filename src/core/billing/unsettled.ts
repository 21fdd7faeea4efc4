import type { ClaimEnd } from '../entities/idempotency.ts';
import type { Store } from '../entities/store.ts';
import type { RecordEnd, RecordStart } from '../entities/usage.ts';
import type { RequestId } from '../values/ids.ts';
import type { Log } from '../values/log.ts';

const retryMs = 1_000;
/** Number of ends that are written together, so that they can share a sync to disk. */
const writesAtOnce = 256;
/**
 * Number of records in memory of requests without a reservation, at about 1 KB each. There are as many records with a
 * reservation as requests ran when writes began to fail.
 */
const refusedMax = 10_000;

interface UnsettledEnd {
  readonly id: RequestId;
  /** Set if nothing was reserved. Then the whole record must be written, not only its end. */
  readonly start: RecordStart | undefined;
  readonly end: RecordEnd;
  readonly claim: ClaimEnd | undefined;
}

/**
 * Ends of requests whose write failed, for example on a full disk. They are written again until that succeeds, so that
 * reservations are released without a restart, and refused requests get their records.
 */
export class Unsettled {
  readonly #store: Store;
  readonly #log: Log;
  readonly #refusedMax: number;
  readonly #ends = new Set<UnsettledEnd>();
  #refused = 0;
  #unrecorded = 0;
  #timer: NodeJS.Timeout | undefined;
  #retried = Promise.resolve();
  #closed = false;

  constructor(store: Store, log: Log, most = refusedMax) {
    this.#store = store;
    this.#log = log;
    this.#refusedMax = most;
  }

  add(unsettled: UnsettledEnd, reason: unknown): void {
    if (isRefused(unsettled)) {
      if (this.#refused >= this.#refusedMax) {
        this.#unrecorded++;
        return;
      }
      // Logs one line for all of them, as they fail for the same reason.
      if (this.#refused === 0) this.#logError(unsettled, reason, 'could not record a request; trying again');
      this.#refused++;
    } else {
      this.#logError(unsettled, reason, 'could not write the end of a request; trying again');
    }
    this.#ends.add(unsettled);
    this.#schedule();
  }

  /** Tries once more. The next start releases the reservations that are still open. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#retry();
    this.#unrecorded += this.#refused;
    this.#reportUnrecorded();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.#retry(), retryMs).unref();
  }

  #retry(): Promise<void> {
    this.#retried = this.#retried.then(() => this.#writeAll());
    return this.#retried;
  }

  async #writeAll(): Promise<void> {
    this.#timer = undefined;
    const waiting = [...this.#ends];
    let count = 0;
    for (let from = 0; from < waiting.length; from += writesAtOnce) {
      const group = waiting.slice(from, from + writesAtOnce);
      const outcomes = await Promise.all(group.map((unsettled) => this.#tryToWrite(unsettled)));
      const written = outcomes.filter((isWritten) => isWritten).length;
      count += written;
      if (written === 0) break;
    }
    if (count > 0) this.#log.info({ count }, 'wrote ends of requests that could not be written before');
    if (this.#refused === 0) this.#reportUnrecorded();
    if (this.#ends.size > 0 && !this.#closed) this.#schedule();
  }

  async #tryToWrite(unsettled: UnsettledEnd): Promise<boolean> {
    this.#ends.delete(unsettled);
    try {
      await this.#write(unsettled);
      if (isRefused(unsettled)) this.#refused--;
      return true;
    } catch {
      // Its first failure was logged. It moves to the end of the queue, in case it can never be written.
      this.#ends.add(unsettled);
      return false;
    }
  }

  async #write({ id, start, end, claim }: UnsettledEnd): Promise<void> {
    if (start === undefined) await this.#store.requests.settle(id, end, claim);
    else await this.#store.requests.record(start, end, claim);
  }

  #reportUnrecorded(): void {
    if (this.#unrecorded === 0) return;
    this.#log.error(
      { count: this.#unrecorded },
      'refused requests have no record, as they were too many or the server ends',
    );
    this.#unrecorded = 0;
  }

  #logError({ id }: UnsettledEnd, reason: unknown, message: string): void {
    this.#log.error({ requestId: id, err: reason }, message);
  }
}

/** Whether it releases nothing: neither a reservation nor a claim. */
function isRefused({ start, claim }: UnsettledEnd): boolean {
  return start !== undefined && claim === undefined;
}
