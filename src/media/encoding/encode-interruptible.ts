import { ParleyError, toParleyError } from '../../core/errors.ts';

/** Passes a promise on, unless the stream is interrupted first: then it rejects, and the promise is let go. */
export type Wait = <Value>(promise: Promise<Value>) => Promise<Value>;

export interface StreamWork<Item> {
  /** Produces the items. Waits for nothing but through `wait`. */
  run(wait: Wait): AsyncGenerator<Item, void, undefined>;
  /** Lets go of everything that `run` took. */
  release(): void;
}

/** What cuts `run` short when the reader leaves. Nobody sees it. */
const readerLeft = new ParleyError('request_cancelled');

/**
 * An async generator that ends at once. A plain one notices an abort or a `return` only when what it waits for has
 * come; here both release everything in the same moment, also while the reader holds still or the source hangs.
 *
 * It starts with the first pull and can be iterated once. An abort rejects the pull that is open, or else the next, with the
 * signal's reason where that is a ParleyError, and `request_cancelled` where not. Errors leave as ParleyError.
 */
export class InterruptibleStream<Item> implements AsyncIterableIterator<Item, void, undefined> {
  readonly #signal: AbortSignal;
  readonly #work: StreamWork<Item>;
  readonly #items: AsyncGenerator<Item, void, undefined>;
  readonly #onAbort = () => this.#interrupt(abortError(this.#signal));
  #interruption: ParleyError | undefined;
  #rejectWait: ((error: ParleyError) => void) | undefined;
  #isReleased = false;

  constructor(signal: AbortSignal, work: StreamWork<Item>) {
    this.#signal = signal;
    this.#work = work;
    this.#items = this.#run();
  }

  next(): Promise<IteratorResult<Item, void>> {
    return this.#items.next();
  }

  return(): Promise<IteratorResult<Item, void>> {
    this.#interrupt(readerLeft);
    return this.#items.return();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async *#run(): AsyncGenerator<Item, void, undefined> {
    try {
      if (this.#signal.aborted) throw abortError(this.#signal);
      this.#signal.addEventListener('abort', this.#onAbort, { once: true });
      for await (const item of this.#work.run((promise) => this.#wait(promise))) {
        yield item;
        if (this.#interruption !== undefined) throw this.#interruption;
      }
    } catch (error) {
      const cause = this.#interruption ?? error;
      if (cause !== readerLeft) throw toParleyError(cause);
    } finally {
      this.#release();
    }
  }

  #wait<Value>(promise: Promise<Value>): Promise<Value> {
    if (this.#interruption !== undefined) return Promise.reject(this.#interruption);
    return new Promise((resolve, reject) => {
      this.#rejectWait = reject;
      promise.then(resolve, reject);
    });
  }

  #interrupt(interruption: ParleyError): void {
    if (this.#interruption !== undefined || this.#isReleased) return;
    this.#interruption = interruption;
    this.#release();
    this.#rejectWait?.(interruption);
  }

  #release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#work.release();
  }
}

function abortError(signal: AbortSignal): ParleyError {
  const reason: unknown = signal.reason;
  return reason instanceof ParleyError ? reason : new ParleyError('request_cancelled', { cause: reason });
}
