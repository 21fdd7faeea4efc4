/** Removes usage records that are older than the operator wants to keep, once a day. */

import { keptMs } from '../entities/idempotency.ts';
import type { UsageStore } from '../entities/usage.ts';
import type { Clock } from '../values/clock.ts';
import { newAuditId } from '../values/ids.ts';
import type { Log } from '../values/log.ts';

const dayMs = 86_400_000;
/** Delay after a start, which leaves that time to requests. */
const firstAfterMs = 60_000;
/** Records per step. Between steps it checks whether it was closed. */
const recordsAtOnce = 5_000;

export interface RetentionDeps {
  readonly usage: Pick<UsageStore, 'prune'>;
  readonly clock: Clock;
  readonly log: Log;
}

export class Retention {
  readonly #deps: RetentionDeps;
  readonly #keepMs: number;
  #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;
  #closed = false;

  /** @param usageDays how long records are kept, in days of 24 hours */
  constructor(deps: RetentionDeps, usageDays: number) {
    this.#deps = deps;
    this.#keepMs = usageDays * dayMs;
    this.#timer = this.#schedule(firstAfterMs);
  }

  /** Resolves when a running step has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(afterMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#timer = this.#schedule(dayMs);
      this.#running = this.#prune();
    }, afterMs).unref();
  }

  async #prune(): Promise<void> {
    const { clock, log } = this.#deps;
    const nowMs = clock.now();
    const before = new Date(nowMs - this.#keepMs).toISOString();
    try {
      const records = await this.#pruneAll(nowMs, before);
      if (records > 0) log.info({ records, before }, 'removed old usage records; their totals are kept');
    } catch (error) {
      log.error({ err: error, before }, 'old usage records could not be removed; trying again tomorrow');
    }
  }

  async #pruneAll(nowMs: number, before: string): Promise<number> {
    const cut = { recordsBeforeMs: nowMs - this.#keepMs, answersBeforeMs: nowMs - keptMs };
    const entry = { action: 'usage.prune', target: 'usage', details: { before } };
    let records = 0;
    for (let isComplete = false; !isComplete && !this.#closed; ) {
      const audit = { id: newAuditId(nowMs), createdAtMs: nowMs, actor: 'retention', ...entry };
      const pruned = await this.#deps.usage.prune(cut, recordsAtOnce, audit);
      records += pruned.records;
      isComplete = pruned.isComplete;
    }
    return records;
  }
}
