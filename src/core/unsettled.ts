import type { RequestId } from './ids.ts';
import type { Log } from './ports/log.ts';
import type { ClaimEnd, RecordEnd, Store } from './ports/store.ts';

const retryMs = 1_000;

interface UnsettledEnd {
  readonly id: RequestId;
  readonly end: RecordEnd;
  readonly claim: ClaimEnd | undefined;
}

/**
 * Ends of requests that could not be written, as on a full disk. They are tried again until they are, so that what the
 * requests had set aside comes back without a restart.
 */
export class Unsettled {
  readonly #store: Store;
  readonly #log: Log;
  readonly #ends = new Set<UnsettledEnd>();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Store, log: Log) {
    this.#store = store;
    this.#log = log;
  }

  add(unsettled: UnsettledEnd, reason: unknown): void {
    this.#log.error(
      { requestId: unsettled.id, err: reason },
      'the end of a request could not be written; trying again',
    );
    this.#ends.add(unsettled);
    this.#schedule();
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.#retry(), retryMs).unref();
  }

  async #retry(): Promise<void> {
    for (const unsettled of this.#ends) {
      try {
        await this.#store.finish(unsettled.id, unsettled.end, unsettled.claim);
        this.#ends.delete(unsettled);
      } catch {
        // Said once, when it was added; the next round tries again.
        break;
      }
    }
    this.#timer = undefined;
    if (this.#ends.size > 0) this.#schedule();
  }
}
