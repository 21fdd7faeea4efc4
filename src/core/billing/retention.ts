/** Removes old counts of end users, and the usage records and audit entries that the operator does not want to keep, once a day. */

import type { AuditEntry, AuditStore } from '../entities/audit.ts';
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
/** Days for which the amounts of end users are kept. They count for a day or a month. */
const countDays = 63;

export interface RetentionDeps {
  readonly usage: Pick<UsageStore, 'prune' | 'pruneEndUsers'>;
  readonly audit: Pick<AuditStore, 'prune'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** How long rows are kept, in days of 24 hours. Undefined: forever. */
export interface RetentionDays {
  readonly usageDays?: number | undefined;
  readonly auditDays?: number | undefined;
}

interface Step {
  readonly removed: number;
  readonly isComplete: boolean;
}

export class Retention {
  readonly #deps: RetentionDeps;
  readonly #days: RetentionDays;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  constructor(deps: RetentionDeps, days: RetentionDays) {
    this.#deps = deps;
    this.#days = days;
    this.#schedule(firstAfterMs);
  }

  /** Resolves when a running step has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(afterMs: number): void {
    this.#timer = setTimeout(() => {
      this.#schedule(dayMs);
      this.#running = this.#pruneAll();
    }, afterMs).unref();
  }

  async #pruneAll(): Promise<void> {
    const { usage, audit, clock } = this.#deps;
    const { usageDays, auditDays } = this.#days;
    const nowMs = clock.now();
    await this.#prune('usage', usageDays, nowMs, async (recordsBeforeMs, entry) => {
      const cut = { recordsBeforeMs, answersBeforeMs: nowMs - keptMs };
      const { records, isComplete } = await usage.prune(cut, recordsAtOnce, entry);
      return { removed: records, isComplete };
    });
    await this.#prune('audit', auditDays, nowMs, async (beforeMs, entry) => {
      const removed = await audit.prune(beforeMs, entry);
      return { removed, isComplete: removed === 0 };
    });
    await this.#pruneEndUsers(nowMs - countDays * dayMs);
  }

  async #pruneEndUsers(beforeMs: number): Promise<void> {
    try {
      let after: string | undefined = 'usr_';
      while (after !== undefined && !this.#closed)
        after = await this.#deps.usage.pruneEndUsers({ after, beforeMs });
    } catch (error) {
      this.#deps.log.error(
        { err: error },
        'old counts of end users could not be removed; trying again tomorrow',
      );
    }
  }

  /** @param remove one step, which writes the audit entry if it removes anything */
  async #prune(
    target: 'usage' | 'audit',
    days: number | undefined,
    nowMs: number,
    remove: (beforeMs: number, entry: AuditEntry) => Promise<Step>,
  ): Promise<void> {
    if (days === undefined) return;
    const { log } = this.#deps;
    const beforeMs = nowMs - days * dayMs;
    const before = new Date(beforeMs).toISOString();
    const change = { actor: 'retention', action: `${target}.prune`, target, details: { before } };
    let removed = 0;
    try {
      for (let isComplete = false; !isComplete && !this.#closed; ) {
        const entry = { id: newAuditId(nowMs), createdAtMs: nowMs, ...change };
        const done = await remove(beforeMs, entry);
        removed += done.removed;
        isComplete = done.isComplete;
      }
      if (removed > 0) log.info({ target, removed, before }, 'removed old rows; totals of usage are kept');
    } catch (error) {
      log.error({ err: error, target, before }, 'old rows could not be removed; trying again tomorrow');
    }
  }
}
