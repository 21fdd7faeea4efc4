import type { ChatChunk } from '../entities/chat-answer.ts';
import type { Batches } from '../values/batches.ts';
import { toParleyError } from '../values/errors.ts';
import { OwnSignal, type Signal, untilAborted } from '../values/signal.ts';

/** Maximum time that an answer is read for its usage after the client has left. The limit of its tokens bounds it, too. */
const readOnMsMax = 60_000;
/** Time to count the tokens of an answer that is cut short, and to send its end. */
const endingMsMax = 10_000;

/** A stream says that it lives after this time, even if it is asked to do so more seldom. */
const firstPingMsMax = 2_000;
/** The same once the upstream has begun its answer. An error that is the whole of it still gets its own status. */
const begunPingMsMax = 500;

/**
 * The chunks of an engine, which stops when the client leaves or the time is up. Once detached it continues, so that its usage can
 * still be read. Ends with `close`.
 */
export class DetachableChunks {
  readonly #client: Signal;
  readonly #pingMs: number;
  /** Ends the wait for chunks. */
  readonly #left = new OwnSignal();
  /** Ends the engine. */
  readonly #stop = new OwnSignal();
  readonly #follow = () => this.#leave(this.#client.reason);
  readonly #chunks: AsyncIterator<readonly ChatChunk[]>;
  #isDetached = false;
  /** A read that was interrupted when the client left. */
  #pending: Promise<IteratorResult<readonly ChatChunk[]>> | undefined;

  /** @param pingMs a wait for chunks that is longer has an empty batch so often */
  constructor(start: (signal: Signal) => Batches<ChatChunk>, client: Signal, pingMs: number) {
    this.#client = client;
    this.#pingMs = pingMs;
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
   * The chunks while the client is connected and has time, and an empty batch whenever they take long.
   * @throws the reason of the client's signal or of `cutShort`
   */
  async *whileAwaited(): AsyncGenerator<readonly ChatChunk[]> {
    const pings = new Pings(this.#pingMs);
    try {
      for (;;) {
        const next = this.#isDetached ? untilAborted(this.#next(), this.#left) : this.#chunks.next();
        let step = await pings.until(next);
        for (; step === undefined; step = await pings.until(next)) yield [];
        if (step.done) return;
        if (step.value.length === 0) {
          pings.hasten();
          continue;
        }
        pings.slowDown();
        yield step.value;
      }
    } finally {
      pings.end();
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

class Pings {
  readonly #everyMs: number;
  #isFirst = true;
  #timer: NodeJS.Timeout | undefined;
  #interrupt: (() => void) | undefined;

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
    this.#start(Math.min(firstPingMsMax, everyMs));
  }

  /** The value; undefined if it takes long: then wait again. */
  until<T>(promise: Promise<T>): Promise<T | undefined> {
    this.#timer?.refresh();
    return new Promise((resolve, reject) => {
      this.#interrupt = () => resolve(undefined);
      promise.then(resolve, reject);
    });
  }

  /** The upstream has begun its answer. */
  hasten(): void {
    if (this.#isFirst) this.#start(Math.min(begunPingMsMax, this.#everyMs));
  }

  /** The client knows that the stream lives. */
  slowDown(): void {
    if (this.#isFirst) this.#start(this.#everyMs);
    this.#isFirst = false;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #start(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const interrupt = this.#interrupt;
      this.slowDown();
      // A chunk that has arrived meanwhile is sent first.
      setImmediate(() => interrupt?.());
    }, ms);
  }
}

/** Whether the client left, as opposed to the server's time limit. */
export function hasLeft(signal: Signal): boolean {
  return signal.aborted && toParleyError(signal.reason).code === 'request_cancelled';
}
