/** Bytes that may wait for their reader before the upstream is told to pause. */
const bufferedBytesMax = 65_536;
/** How long the rest of an answer that nobody needs may take before its connection is given up. */
const restMsMax = 100;

/** The connection that a body comes from. */
export interface BodySource {
  pause(): void;
  resume(): void;
  /** Cuts the connection. */
  stop(): void;
}

export interface AnswerBodyOptions {
  readonly source: BodySource;
  /** How long the reader waits for the next piece. */
  readonly idleMs: number;
  /** The error of a body that pauses for longer. */
  readonly idleError: () => Error;
}

interface Waiting {
  resolve(result: IteratorResult<Uint8Array, undefined>): void;
  reject(reason: unknown): void;
}

/**
 * The bytes of an answer as they come in, for one reader. Reading slowly slows the upstream; leaving off before the end
 * cuts the connection. The time that the reader takes does not count as a pause of the upstream.
 */
export class AnswerBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #options: AnswerBodyOptions;
  #pieces: Uint8Array[] = [];
  #bufferedBytes = 0;
  #isPaused = false;
  #isClosed = false;
  readonly #onClosed: (() => void)[] = [];
  #failure: { readonly reason: unknown } | undefined;
  #waiting: Waiting | undefined;
  #idle: NodeJS.Timeout | undefined;
  #rest: NodeJS.Timeout | undefined;

  constructor(options: AnswerBodyOptions) {
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Calls back once when the connection is no longer needed; at once where that is so already. */
  whenClosed(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#onClosed.push(callback);
  }

  push(piece: Uint8Array): void {
    if (this.#rest) return;
    const waiting = this.#waiting;
    if (waiting) {
      this.#waiting = undefined;
      waiting.resolve({ done: false, value: piece });
      return;
    }
    this.#pieces.push(piece);
    this.#bufferedBytes += piece.length;
    if (this.#bufferedBytes < bufferedBytesMax || this.#isPaused) return;
    this.#isPaused = true;
    this.#options.source.pause();
  }

  end(): void {
    this.#close();
    this.#waiting?.resolve({ done: true, value: undefined });
    this.#waiting = undefined;
  }

  /** Ends the body with an error; what has not been read by then is lost. */
  fail(reason: unknown): void {
    if (this.#isClosed) return;
    this.#failure = { reason };
    this.#pieces = [];
    this.#close();
    this.#waiting?.reject(reason);
    this.#waiting = undefined;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const piece = this.#pieces.shift();
    if (piece) {
      this.#taken(piece);
      return Promise.resolve({ done: false, value: piece });
    }
    if (this.#failure) return Promise.reject(this.#failure.reason);
    if (this.#isClosed || this.#rest) return Promise.resolve({ done: true, value: undefined });
    this.#watchIdle();
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  /** The reader leaves off. */
  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (!this.#rest) this.#cut();
    return Promise.resolve({ done: true, value: undefined });
  }

  /**
   * The reader has all that it needs: where the rest ends at once, the connection is kept for the next request.
   * What was not read is dropped.
   */
  release(): void {
    if (this.#isClosed || this.#rest) return;
    this.#rest = setTimeout(() => this.#cut(), restMsMax);
    this.#pieces = [];
    this.#bufferedBytes = 0;
    this.#resume();
  }

  #taken(piece: Uint8Array): void {
    this.#bufferedBytes -= piece.length;
    if (this.#bufferedBytes < bufferedBytesMax / 2) this.#resume();
  }

  #resume(): void {
    if (!this.#isPaused || this.#isClosed) return;
    this.#isPaused = false;
    this.#options.source.resume();
  }

  /** The timer is kept between pieces, as restarting it is cheap; one that fires while nobody waits means nothing. */
  #watchIdle(): void {
    if (this.#idle) {
      this.#idle.refresh();
      return;
    }
    const { idleMs, idleError } = this.#options;
    this.#idle = setTimeout(() => {
      if (this.#waiting) this.#cut(idleError());
    }, idleMs);
  }

  #cut(reason?: Error): void {
    if (this.#isClosed) return;
    this.fail(reason ?? new Error('nobody reads the answer'));
    this.#options.source.stop();
  }

  #close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#idle);
    clearTimeout(this.#rest);
    for (const callback of this.#onClosed) callback();
  }
}
