import { ParleyError, toParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';

/** Settles as the promise does, or rejects as soon as the stream is interrupted. */
export type Wait = <Value>(promise: Promise<Value>) => Promise<Value>;

interface StreamWork<Item> {
  /** Produces the items. Must await every promise through `wait`. */
  run(wait: Wait): AsyncGenerator<Item, void, undefined>;
  /** Releases everything that `run` holds. */
  release(): void;
}

/** Ends `run` when the reader leaves. Callers never see it. */
const readerLeft = new ParleyError('request_cancelled');

/**
 * An async generator that an abort or a `return` ends at once, even while its reader pauses or its source hangs. A
 * plain generator first waits for the promise that it awaits. An abort rejects the open or the next pull with the
 * signal's reason. Every error is thrown as a ParleyError.
 */
export class InterruptibleStream<Item> implements AsyncIterableIterator<Item, void, undefined> {
  readonly #signal: Signal;
  readonly #work: StreamWork<Item>;
  readonly #items: AsyncGenerator<Item, void, undefined>;
  readonly #onAbort = () => this.#interrupt(abortError(this.#signal));
  #interruption: ParleyError | undefined;
  #rejectWait: ((error: ParleyError) => void) | undefined;
  #isReleased = false;

  constructor(signal: Signal, work: StreamWork<Item>) {
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

function abortError(signal: Signal): ParleyError {
  const reason: unknown = signal.reason;
  return reason instanceof ParleyError ? reason : new ParleyError('request_cancelled', { cause: reason });
}
