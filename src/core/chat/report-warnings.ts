import { boundedReport, isPossible, type TokenBounds } from '../billing/token-report.ts';
import type { TokenUsage } from '../entities/usage.ts';
import type { Clock } from '../values/clock.ts';
import type { Log } from '../values/log.ts';

const everyMs = 60_000;

interface Reporting {
  readonly model: { readonly id: string };
  readonly call: { readonly id: string };
  readonly bounds: TokenBounds;
}

interface Warned {
  readonly atMs: number;
  /** Number of later reports that were not logged. */
  unlogged: number;
}

/**
 * Logs impossible token reports, at most one per minute and model, as a model with wrong settings may send one with
 * each chat.
 */
export class ReportWarnings {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #warned = new Map<string, Warned>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** The report, bounded and logged if it is impossible, as the operator may have to correct the model's settings. */
  believed(
    { model, call, bounds }: Reporting,
    reported: TokenUsage | undefined,
    counted: TokenUsage,
  ): TokenUsage | undefined {
    if (reported === undefined || isPossible(reported, bounds, counted)) return reported;
    this.#warn(model.id, { requestId: call.id, reported, counted, bounds });
    return boundedReport(reported, bounds, counted);
  }

  #warn(model: string, facts: object): void {
    const nowMs = this.#clock.now();
    const last = this.#warned.get(model);
    if (last && Math.abs(nowMs - last.atMs) < everyMs) {
      last.unlogged++;
      return;
    }
    this.#warned.set(model, { atMs: nowMs, unlogged: 0 });
    const fields = { model, ...facts, unlogged: last?.unlogged ?? 0 };
    this.#log.warn(
      fields,
      'the model reports more tokens than it can have used; charging the most that it can have used',
    );
  }
}
