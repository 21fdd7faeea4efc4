import type { Availability } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { briefError, type Log } from '../../core/values/log.ts';
import type { Signal } from '../../core/values/signal.ts';

/** The wait before the second reading while no value is known; it doubles each time, up to `everyMs`. */
const firstWaitMs = 1_000;

export interface ReportedValueOptions<Value> {
  /** Resolves to undefined if the upstream does not report it. */
  readonly read: (signal: Signal) => Promise<Value | undefined>;
  /** The reason until the first reading ends. */
  readonly pending: string;
  /** Why the value is unknown, with advice. @param error undefined if the upstream does not report it */
  readonly reasonOf: (error: unknown) => string;
  /** Milliseconds between two readings once the value is known. */
  readonly everyMs: number;
  readonly log: Log;
  /** Names the engine and the model in the log. */
  readonly names: { readonly engine: string; readonly model: string };
}

/** A fact that Parley must know before it can call a model: its voices, or its context. */
export interface Known<Value> {
  availability(): Availability;
  /** @throws `engine_unavailable` while it is not known */
  value(): Value;
}

/**
 * A fact that an upstream reports about a model, read at once and then regularly in the background. Until it is known the
 * model is unavailable. After a failed reading the last value stays. Failures in a row are logged once.
 */
export class ReportedValue<Value> implements Known<Value> {
  readonly #options: ReportedValueOptions<Value>;
  readonly #closing = new AbortController();
  #value: Value | undefined;
  #reason: string;
  #hasFailed = false;
  #waitMs = firstWaitMs;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ReportedValueOptions<Value>) {
    this.#options = options;
    this.#reason = options.pending;
    void this.#refresh();
  }

  availability(): Availability {
    if (this.#value !== undefined) return { available: true };
    return { available: false, reason: this.#reason, isPending: !this.#hasFailed };
  }

  value(): Value {
    if (this.#value !== undefined) return this.#value;
    throw new ParleyError('engine_unavailable', { message: this.#reason });
  }

  close(): void {
    this.#closing.abort(new ParleyError('request_cancelled'));
    clearTimeout(this.#timer);
  }

  /** Reads the value and schedules the next reading. Never rejects. */
  async #refresh(): Promise<void> {
    const { read, everyMs } = this.#options;
    const { signal } = this.#closing;
    try {
      const value = await read(signal);
      if (value === undefined) this.#fail(undefined);
      else this.#hasFailed = false;
      this.#value = value ?? this.#value;
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
    if (signal.aborted) return;
    const waitMs = this.#value === undefined ? Math.min(this.#waitMs, everyMs) : everyMs;
    this.#waitMs *= 2;
    this.#timer = setTimeout(() => void this.#refresh(), waitMs).unref();
  }

  #fail(error: unknown): void {
    const { names, log, reasonOf } = this.#options;
    this.#reason = reasonOf(error);
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const cause = error instanceof ParleyError ? (error.cause ?? error) : error;
    log.warn({ ...names, ...(cause !== undefined && { err: briefError(cause) }) }, this.#reason);
  }
}

/** The value of that name, which is opened at its first use. */
export function kept<Value>(
  known: Map<string, ReportedValue<Value>>,
  name: string,
  options: ReportedValueOptions<Value>,
): ReportedValue<Value> {
  const value = known.get(name) ?? new ReportedValue(options);
  known.set(name, value);
  return value;
}
