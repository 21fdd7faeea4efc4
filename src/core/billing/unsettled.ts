import type { RequestId } from '../ids.ts';
import type { ClaimEnd } from '../ports/idempotency.ts';
import type { Log } from '../ports/log.ts';
import type { Store } from '../ports/store.ts';
import type { RecordEnd, RecordStart } from '../ports/usage.ts';

const retryMs = 1_000;

interface UnsettledEnd {
  readonly id: RequestId;
  /** Set if nothing was reserved: then the whole record has to be written, not only its end. */
  readonly start: RecordStart | undefined;
  readonly end: RecordEnd;
  readonly claim: ClaimEnd | undefined;
}

/**
 * Ends of requests whose write failed, for example on a full disk. They are tried again until they succeed, so that reservations
 * return without a restart.
 */
export class Unsettled {
  readonly #store: Store;
  readonly #log: Log;
  readonly #ends = new Set<UnsettledEnd>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  /** Whether an end still waits to be written. */
  get hasAny(): boolean {
    return this.#ends.size > 0;
  }

  add(unsettled: UnsettledEnd, reason: unknown): void {
    this.#log.error(
      { requestId: unsettled.id, err: reason },
      'could not write the end of a request; trying again',
    );
    this.#ends.add(unsettled);
    this.#schedule();
  }

  /** Stops trying. The next start releases whatever is still open. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.#retry(), retryMs).unref();
  }

  async #retry(): Promise<void> {
    for (const unsettled of this.#ends) {
      try {
        await this.#write(unsettled);
        this.#ends.delete(unsettled);
        this.#log.info({ requestId: unsettled.id }, 'wrote the end of a request');
      } catch {
        // Logged when it was added. The next round starts with another one, in case this one can never be written.
        this.#ends.delete(unsettled);
        this.#ends.add(unsettled);
        break;
      }
    }
    this.#timer = undefined;
    if (this.#ends.size > 0 && !this.#closed) this.#schedule();
  }

  async #write({ id, start, end, claim }: UnsettledEnd): Promise<void> {
    if (start === undefined) await this.#store.settle(id, end, claim);
    else await this.#store.record(start, end, claim);
  }
}
