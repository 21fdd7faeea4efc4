/** Signals that end a request, at a fraction of the cost of an AbortController with a timer. */
import { ParleyError } from './errors.ts';

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
      signal.end();
      const reason = this.#timeUp();
      if (signal.onTimeUp) signal.onTimeUp(reason);
      else signal.abort(reason);
    }
  }
}

/** Aborts when its time is up or its outer signal aborts, unless the work ends first. */
export class TimedSignal extends OwnSignal {
  readonly endsAtMs: number;
  /** Called when the time is up. Default: the signal aborts. */
  onTimeUp: ((reason: unknown) => void) | undefined;
  readonly #running: Set<TimedSignal>;
  readonly #outer: Signal | undefined;
  readonly #follow = () => this.abort(this.#outer?.reason);

  constructor(running: Set<TimedSignal>, endsAtMs: number, outer?: Signal) {
    super();
    this.#running = running;
    this.endsAtMs = endsAtMs;
    this.#outer = outer;
    this.owner = outer?.owner;
    outer?.addEventListener('abort', this.#follow);
    if (outer?.aborted) this.#follow();
  }

  end(): void {
    this.#running.delete(this);
    this.#outer?.removeEventListener('abort', this.#follow);
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

/** Aborts a request when its time is up or its client has left. */
export class Deadline {
  readonly #signal: TimedSignal;
  #isOver = false;
  #ending: NodeJS.Timeout | undefined;

  constructor(limit: TimeLimit) {
    this.#signal = limit.begin();
  }

  /** The reason is a ParleyError. */
  get signal(): Signal {
    return this.#signal;
  }

  /** Sets the account of the request, once known, and the list of the engines that work on it. */
  ownedBy(account: string, attempts: EngineAttempt[]): void {
    this.#signal.owner = account;
    this.#signal.attempts = attempts;
  }

  /** Aborts because the client has left, or its own deadline has passed. Ignored once the request has ended. */
  cancel(): void {
    if (!this.#isOver) this.#signal.abort(new ParleyError('request_cancelled'));
  }

  /** Asks `cut` when the time is up. If it returns a time in milliseconds, the signal aborts only after it. */
  askFirst(cut: (reason: unknown) => number | undefined): void {
    this.#signal.onTimeUp = (reason) => {
      const endingMs = this.#isOver ? undefined : cut(reason);
      const abort = () => this.#signal.abort(reason);
      if (endingMs === undefined) abort();
      else this.#ending = setTimeout(abort, endingMs).unref();
    };
  }

  stop(): void {
    this.#isOver = true;
    this.#signal.end();
    clearTimeout(this.#ending);
  }
}
