type Stop = (reason: unknown) => void;

/**
 * How long a call to an upstream lives: until it is closed or, before that, until its client leaves or its time is up.
 * Whatever stage the call is in listens here, so that an early end stops it at once.
 */
export class CallLife {
  readonly #signal: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #stops = new Set<Stop>();
  readonly #onAbort = () => this.#end(this.#signal.reason);
  #early: { readonly reason: unknown } | undefined;

  /** @param timeUp the error that ends a call which takes longer than `totalMs` */
  constructor(signal: AbortSignal, totalMs: number, timeUp: () => Error) {
    this.#signal = signal;
    this.#timer = setTimeout(() => this.#end(timeUp()), totalMs);
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (signal.aborted) this.#onAbort();
  }

  /** @throws the reason of an early end, as it is */
  throwIfEnded(): void {
    if (this.#early) throw this.#early.reason;
  }

  /** Tells of an early end, at once where it has been. Returns what takes the listener away. */
  onEarlyEnd(stop: Stop): () => void {
    if (this.#early) stop(this.#early.reason);
    else this.#stops.add(stop);
    return () => this.#stops.delete(stop);
  }

  /** What `work` comes to, or the reason of an early end where that is first. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onEarlyEnd(reject);
      work.then(resolve, reject).finally(forget);
    });
  }

  /** Ends a call that is over. May be called more than once. */
  close(): void {
    clearTimeout(this.#timer);
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.#stops.clear();
  }

  #end(reason: unknown): void {
    this.#early ??= { reason };
    const stops = [...this.#stops];
    this.close();
    for (const stop of stops) stop(reason);
  }
}
