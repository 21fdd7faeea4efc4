/** Signals that end a request, at a fraction of the cost of an AbortController with a timer. */
import { ParleyError, toParleyError } from './errors.ts';

/** An engine that has worked on a request, as the record of the request shows it. */
export interface EngineAttempt {
  readonly engine: string;
  readonly model: string;
  /** Undefined until the engine has failed. */
  readonly error: Pick<ParleyError, 'code' | 'upstream' | 'hasRun' | 'hasNotRun'> | undefined;
  /** From the call of the engine to its first output; undefined without output. */
  readonly firstOutputMs: number | undefined;
  /** Undefined while it works. */
  readonly durationMs: number | undefined;
}

/** Statuses of upstreams that gave up while they worked. */
const lateStatuses: readonly unknown[] = [408, 504];

/** Whether the engine has worked on the request, or may have, so that another attempt costs its operator again. */
export function mayHaveRun({ error, firstOutputMs }: EngineAttempt): boolean {
  if (error === undefined || firstOutputMs !== undefined) return true;
  return error.hasRun || lateStatuses.includes(error.upstream?.status);
}

/** The part of an AbortSignal that work needs to stop in time. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  /** The account that the work is for. Shared threads are divided fairly among accounts. */
  readonly owner?: string | undefined;
  /** Takes the engines that begin to work on the request, in their order. */
  readonly attempts?: EngineAttempt[] | undefined;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A signal that its owner aborts. Listeners run once. */
export class OwnSignal implements Signal {
  owner: string | undefined;
  attempts: EngineAttempt[] | undefined;
  readonly #listeners: (() => void)[] = [];
  #aborted = false;
  #reason: unknown;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    // A listener may remove others.
    for (let next = this.#listeners.shift(); next; next = this.#listeners.shift()) next();
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(_: 'abort', listener: () => void): void {
    if (!this.#aborted) this.#listeners.push(listener);
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }
}

/** A time limit for many pieces of work. They end in the order in which they begin, so one timer serves all. */
export class TimeLimit {
  readonly #ms: number;
  readonly #timeUp: () => unknown;
  readonly #running = new Set<TimedSignal>();
  #timer: NodeJS.Timeout | undefined;

  /** @param timeUp creates the reason with which a signal aborts when its time is up */
  constructor(ms: number, timeUp: () => unknown) {
    this.#ms = ms;
    this.#timeUp = timeUp;
  }

  /** @param outer also aborts the signal */
  begin(outer?: Signal): TimedSignal {
    const signal = new TimedSignal(this.#running, performance.now() + this.#ms, outer);
    this.#running.add(signal);
    this.#timer ??= this.#checkIn(this.#ms);
    return signal;
  }

  #checkIn(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#check(), Math.ceil(ms)).unref();
  }

  #check(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const signal of this.#running) {
      if (signal.endsAtMs > nowMs) {
        this.#timer = this.#checkIn(signal.endsAtMs - nowMs);
        return;
      }
      this.#running.delete(signal);
      signal.timeUp(this.#timeUp());
    }
  }
}

/** Aborts when its time is up or its outer signal aborts, unless the work ends first. */
export class TimedSignal extends OwnSignal {
  readonly endsAtMs: number;
  /** Asked when the time is up: the signal aborts this many milliseconds later. Default: at once. */
  askFirst: ((reason: unknown) => number | undefined) | undefined;
  readonly #running: Set<TimedSignal>;
  readonly #outer: Signal | undefined;
  readonly #follow = () => this.abort(this.#outer?.reason);
  #hasEnded = false;
  #ending: NodeJS.Timeout | undefined;

  constructor(running: Set<TimedSignal>, endsAtMs: number, outer?: Signal) {
    super();
    this.#running = running;
    this.endsAtMs = endsAtMs;
    this.#outer = outer;
    this.owner = outer?.owner;
    outer?.addEventListener('abort', this.#follow);
    if (outer?.aborted) this.#follow();
  }

  timeUp(reason: unknown): void {
    const endingMs = this.askFirst?.(reason);
    if (endingMs === undefined) this.abort(reason);
    else this.#ending = setTimeout(() => this.abort(reason), endingMs).unref();
  }

  /** Whether the work has ended: nothing aborts it any more. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  override abort(reason: unknown): void {
    if (!this.#hasEnded) super.abort(reason);
  }

  end(): void {
    this.#hasEnded = true;
    this.#running.delete(this);
    this.#outer?.removeEventListener('abort', this.#follow);
    clearTimeout(this.#ending);
  }
}

/** Settles as `work` does, or rejects with the signal's reason if it aborts first. */
export async function untilAborted<T>(work: Promise<T>, signal: Signal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Ends the work of a reader that leaves. Callers never see it. */
const readerLeft = new ParleyError('request_cancelled');

/**
 * An async generator that an abort or a `return` ends at once, even while its reader pauses or its source hangs: a plain one first waits
 * for what it awaits. An abort rejects the open or the next pull with the signal's reason. Every error is thrown as a ParleyError.
 * @param run gets a signal that aborts once, at the end of any kind, and for what it awaits
 */
export function interruptible<Item>(
  outer: Signal,
  run: (stop: OwnSignal) => AsyncGenerator<Item, void, undefined>,
): AsyncIterableIterator<Item, void, undefined> {
  const stop = new OwnSignal();
  stop.owner = outer.owner;
  const onAbort = () => {
    const { reason } = outer;
    stop.abort(
      reason instanceof ParleyError ? reason : new ParleyError('request_cancelled', { cause: reason }),
    );
  };
  async function* items(): AsyncGenerator<Item, void, undefined> {
    try {
      outer.addEventListener('abort', onAbort);
      if (outer.aborted) onAbort();
      stop.throwIfAborted();
      for await (const item of run(stop)) {
        yield item;
        stop.throwIfAborted();
      }
    } catch (error) {
      const cause = stop.aborted ? stop.reason : error;
      if (cause !== readerLeft) throw toParleyError(cause);
    } finally {
      outer.removeEventListener('abort', onAbort);
      stop.abort(readerLeft);
    }
  }
  const iterator = items();
  return {
    next: () => iterator.next(),
    return() {
      stop.abort(readerLeft);
      return iterator.return();
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Maximum time of a whole request. After it the request ends with `overloaded`. */
export function requestTimeLimit(requestMsMax: number): TimeLimit {
  const seconds = Math.round(requestMsMax / 1000);
  const timeUp = () =>
    new ParleyError('overloaded', {
      isTimeLimit: true,
      message: `The request took longer than ${seconds} seconds and was ended. Send less at once, or try again later.`,
      retryAfterSeconds: 10,
    });
  return new TimeLimit(requestMsMax, timeUp);
}
