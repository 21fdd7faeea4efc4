/** Sums ended days of usage, so that totals stay fast with any number of records. */
import type { UsageStore } from '../entities/usage.ts';
import type { Log } from '../values/log.ts';

/** Delay after a start, which leaves that time to requests. */
const firstAfterMs = 30_000;
const everyMs = 600_000;

export class EndedDays {
  readonly #usage: Pick<UsageStore, 'sumEndedDays'>;
  readonly #log: Log;
  readonly #closing = new AbortController();
  #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  constructor(usage: Pick<UsageStore, 'sumEndedDays'>, log: Log) {
    this.#usage = usage;
    this.#log = log;
    this.#timer = this.#schedule(firstAfterMs);
  }

  /** Resolves when a running step has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(afterMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#running = this.#sum();
    }, afterMs).unref();
  }

  async #sum(): Promise<void> {
    try {
      await this.#usage.sumEndedDays(this.#closing.signal);
    } catch (error) {
      this.#log.error({ err: error }, 'ended days could not be summed; totals read their records until then');
    }
    if (!this.#closing.signal.aborted) this.#timer = this.#schedule(everyMs);
  }
}
