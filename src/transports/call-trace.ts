import type { TraceSpan } from '../core/entities/tracer.ts';

/** The trace of a call. Its span ends once the connection is closed and no work runs in it, in either order. */
export class CallTrace {
  #span: TraceSpan | undefined;
  #running = 0;
  #isClosed = false;
  #error: unknown;

  constructor(span: TraceSpan) {
    this.#span = span;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const span = this.#span;
    if (span === undefined) return work();
    this.#running++;
    try {
      return await span.run(work);
    } finally {
      this.#running--;
      this.#end();
    }
  }

  /** Requests each part within the span, since the consumer runs outside of it. */
  async *stream<T>(parts: AsyncGenerator<T, void, void>): AsyncGenerator<T, void, void> {
    const span = this.#span;
    if (span === undefined) return yield* parts;
    this.#running++;
    try {
      for (;;) {
        const { done, value } = await span.run(() => parts.next());
        if (done) return;
        yield value;
      }
    } finally {
      // If the consumer returns early, the source must end as well.
      await span.run(() => parts.return());
      this.#running--;
      this.#end();
    }
  }

  /** @param error the error that the client received */
  close(error: unknown): void {
    this.#isClosed = true;
    this.#error = error;
    this.#end();
  }

  #end(): void {
    if (!this.#isClosed || this.#running > 0) return;
    this.#span?.end(this.#error);
    this.#span = undefined;
  }
}
