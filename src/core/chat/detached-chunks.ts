import type { ChatChunk } from '../entities/chat-answer.ts';
import type { Batches } from '../values/batches.ts';
import { toParleyError } from '../values/errors.ts';
import { OwnSignal, type Signal } from '../values/signal.ts';

/** Maximum time that an answer is read for its usage after the client has left. The limit of its tokens bounds it, too. */
const readOnMsMax = 60_000;
/** Time to count the tokens of an answer that is cut short, and to send its end. */
const endingMsMax = 10_000;

/**
 * The chunks of an engine, which stops when the client leaves or the time is up. Once detached it continues, so that its usage can
 * still be read. Ends with `close`.
 */
export class DetachableChunks {
  readonly #client: Signal;
  /** Ends the wait for chunks. */
  readonly #left = new OwnSignal();
  /** Ends the engine. */
  readonly #stop = new OwnSignal();
  readonly #follow = () => this.#leave(this.#client.reason);
  readonly #chunks: AsyncIterator<readonly ChatChunk[]>;
  #isDetached = false;
  /** A read that was interrupted when the client left. */
  #pending: Promise<IteratorResult<readonly ChatChunk[]>> | undefined;

  constructor(start: (signal: Signal) => Batches<ChatChunk>, client: Signal) {
    this.#client = client;
    this.#stop.owner = client.owner;
    this.#stop.attempts = client.attempts;
    client.addEventListener('abort', this.#follow);
    if (client.aborted) this.#follow();
    this.#chunks = start(this.#stop)[Symbol.asyncIterator]();
  }

  detach(): void {
    this.#isDetached = true;
  }

  /** Ends the wait for chunks by an error. @returns the milliseconds until the answer has ended */
  cutShort(reason: unknown): number {
    this.#leave(reason);
    return endingMsMax + (this.#isDetached ? readOnMsMax : 0);
  }

  #leave(reason: unknown): void {
    if (!this.#isDetached) this.#stop.abort(reason);
    this.#left.abort(reason);
  }

  /**
   * The chunks while the client is connected and has time.
   * @throws the reason of the client's signal or of `cutShort`
   */
  async *whileAwaited(): AsyncGenerator<readonly ChatChunk[]> {
    for (;;) {
      const next = this.#isDetached ? orAborted(this.#next(), this.#left) : this.#chunks.next();
      const { done, value } = await next;
      if (done) return;
      yield value;
    }
  }

  /** If detached, reads to the end without the client, but at most for `readOnMsMax`. Never rejects. */
  async readOn(take: (chunks: readonly ChatChunk[]) => void): Promise<void> {
    if (!this.#isDetached) return;
    const timer = setTimeout(() => this.#stop.abort(this.#left.reason), readOnMsMax);
    try {
      for (;;) {
        const { done, value } = await this.#next();
        if (done) return;
        take(value);
      }
    } catch {
      // The chunks read so far count.
    } finally {
      clearTimeout(timer);
    }
  }

  /** Stops the engine if it is still running. */
  async close(): Promise<void> {
    this.#client.removeEventListener('abort', this.#follow);
    this.#stop.abort(this.#client.reason);
    await this.#pending?.catch(() => undefined);
    await this.#chunks.return?.();
  }

  #next(): Promise<IteratorResult<readonly ChatChunk[]>> {
    const next = this.#pending ?? this.#chunks.next();
    this.#pending = next;
    const forget = () => {
      this.#pending = undefined;
    };
    next.then(forget, forget);
    return next;
  }
}

/** Whether the client left, as opposed to the server's time limit. */
export function hasLeft(signal: Signal): boolean {
  return signal.aborted && toParleyError(signal.reason).code === 'request_cancelled';
}

/** Rejects as soon as the signal aborts. The promise continues. */
function orAborted<T>(promise: Promise<T>, signal: Signal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    const end = () => signal.removeEventListener('abort', leave);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    promise.then(resolve, reject).finally(end);
  });
}
