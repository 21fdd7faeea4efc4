/** Raises alerts and delivers them, in the background of a server. No request waits for them. */
import { setImmediate as turn } from 'node:timers/promises';
import type { FairUseRules } from '../billing/fair-use.ts';
import type { Alert, AlertDetails, AlertKind, WatchedAccount } from '../entities/alert.ts';
import { periodOf } from '../entities/count.ts';
import type { Clock } from '../values/clock.ts';
import { type AccountId, newAlertId } from '../values/ids.ts';
import { budgetsOf, type Due, dueAlerts } from './conditions.ts';
import { Deliveries, type DeliveriesDeps } from './deliveries.ts';

/** Time between two checks of all accounts. */
const intervalMsByDefault = 5_000;
/** Number of accounts that are read at once, with all their keys. Each may have a thousand keys. */
const accountsAtOnce = 10;

export interface AlertsDeps extends DeliveriesDeps {
  /** The clock that decides about the end of subscriptions. */
  readonly accessClock: Clock;
  readonly fairUse: FairUseRules;
}

export class Alerts {
  readonly #deps: AlertsDeps;
  readonly #deliveries: Deliveries;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Steps, and ids of accounts, that failed in the last round. */
  readonly #failing = new Set<string>();
  #isClosed = false;

  constructor(deps: AlertsDeps, intervalMs = intervalMsByDefault) {
    this.#deps = deps;
    this.#deliveries = new Deliveries(deps);
    this.#intervalMs = intervalMs;
    this.#schedule();
  }

  /** Ends running work. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
    await this.#deliveries.close();
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#run().then(() => this.#schedule());
    }, this.#intervalMs).unref();
  }

  async #run(): Promise<void> {
    await this.#attempt('accounts', () => this.#raiseAll());
    await this.#attempt('deliveries', () => this.#deliveries.begin());
  }

  /** Does not reject. Logs the first of several failures in a row; the next round tries again. */
  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#failing.delete(what);
    } catch (error) {
      if (!this.#failing.has(what)) this.#deps.log.error({ err: error, what }, 'alerts failed; trying again');
      this.#failing.add(what);
    }
  }

  async #raiseAll(): Promise<void> {
    const { store, clock, accessClock } = this.#deps;
    for (let after: string | undefined = ''; after !== undefined && !this.#isClosed; ) {
      const nowMs = clock.now();
      const moment = { month: periodOf('month', nowMs), nowMs: accessClock.now() };
      const page = await store.alerts.watched(moment, { after, size: accountsAtOnce });
      await this.#raiseFor(page, nowMs);
      after = page.length < accountsAtOnce ? undefined : page.at(-1)?.account.id;
      // Reads of SQLite are synchronous, so other requests run between pages.
      await turn();
    }
  }

  async #raiseFor(page: readonly WatchedAccount[], nowMs: number): Promise<void> {
    const { store, accessClock, fairUse } = this.#deps;
    const moment = { nowMs, accessNowMs: accessClock.now(), fairUse };
    const budgets = page.map((watched) => budgetsOf(watched, nowMs));
    const used = await store.alerts.usedCredits(budgets.flat().map(({ count }) => count));
    let at = 0;
    for (const [index, watched] of page.entries()) {
      const own = budgets[index] ?? [];
      const amounts = used.slice(at, at + own.length);
      at += own.length;
      await this.#attempt(watched.account.id, async () => {
        for (const due of dueAlerts(watched, own, amounts, moment))
          await this.#raise(watched.account.id, due);
      });
    }
  }

  async #raise(account: AccountId, { mark, read, details }: Due): Promise<void> {
    const { store, clock, log, observer } = this.#deps;
    const alert = newAlert(account, mark.kind, details, clock.now());
    if (!(await store.alerts.raise(alert, mark, read))) return;
    observer.raised(alert.kind);
    log.info({ alert: alert.id, account, type: alert.kind, ...details }, 'raised an alert');
  }
}

/** Raises an alert that is due at once. */
export function newAlert(accountId: AccountId, kind: AlertKind, details: AlertDetails, nowMs: number): Alert {
  return {
    id: newAlertId(nowMs),
    accountId,
    kind,
    createdAtMs: nowMs,
    details,
    delivery: {
      state: 'pending',
      attempts: 0,
      nextAttemptAtMs: nowMs,
      deliveredAtMs: undefined,
      lastFailure: undefined,
    },
  };
}
