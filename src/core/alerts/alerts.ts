/**
 * Raises alerts and delivers them at least once, in the background of a server. No request waits for them. Each attempt is
 * claimed before it begins, so that several nodes and restarts share the work.
 */
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { FairUseRules } from '../billing/fair-use.ts';
import type { Alert, AlertDetails, AlertKind, DueAlert } from '../entities/alert.ts';
import type { Clock } from '../values/clock.ts';
import { type AccountId, newAlertId } from '../values/ids.ts';
import { type Due, dueAlerts } from './conditions.ts';
import { type SendingDeps, send } from './deliveries.ts';

/** Time between two checks of all accounts. */
const intervalMsByDefault = 5_000;
/** Number of accounts that are read at once, with all their keys. Each may have a thousand keys. */
const accountsAtOnce = 10;
/** Pause after the first attempt. It is longer than an attempt, so that two never run at once. */
const firstRetryMs = 15_000;
const retryMsMax = 4 * 3_600_000;
/** Age at which an alert is given up after a failed attempt. */
const triedMsMax = 3 * 86_400_000;
const attemptsAtOnce = 16;

export interface AlertsDeps extends SendingDeps {
  /** The clock that decides about the end of subscriptions. */
  readonly accessClock: Clock;
  readonly fairUse: FairUseRules;
}

export class Alerts {
  readonly deps: AlertsDeps;
  readonly #running: Promise<void>;
  readonly #attempts = new Map<AccountId, Promise<void>>();
  /** Steps, and ids of accounts, that failed in the last round. */
  readonly #failing = new Set<string>();
  readonly #closing = new AbortController();

  constructor(deps: AlertsDeps, intervalMs = intervalMsByDefault) {
    this.deps = deps;
    this.#running = this.#runEvery(intervalMs);
  }

  /** Ends running work. Alerts whose attempts it ends stay pending, and are tried again after the usual pause. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
    await Promise.all(this.#attempts.values());
  }

  /** Until it is closed. */
  async #runEvery(intervalMs: number): Promise<void> {
    const { signal } = this.#closing;
    while (await sleep(intervalMs, true, { signal, ref: false }).catch(() => false)) {
      await this.#attempt('accounts', () => this.#raiseAll());
      await this.#attempt('deliveries', () => this.#deliver());
    }
  }

  /** Does not reject. Logs the first of several failures in a row; the next round tries again. */
  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#failing.delete(what);
    } catch (error) {
      if (!this.#failing.has(what)) this.deps.log.error({ err: error, what }, 'alerts failed; trying again');
      this.#failing.add(what);
    }
  }

  async #raiseAll(): Promise<void> {
    const { store, clock, accessClock, fairUse } = this.deps;
    for (let after: string | undefined = ''; after !== undefined && !this.#closing.signal.aborted; ) {
      const moment = { nowMs: clock.now(), accessNowMs: accessClock.now(), fairUse };
      const page = await store.alerts.watched(moment, { after, size: accountsAtOnce });
      for (const watched of page) {
        const { id } = watched.account;
        await this.#attempt(id, async () => {
          for (const due of dueAlerts(watched, moment)) await this.#raise(id, due);
        });
      }
      after = page.length < accountsAtOnce ? undefined : page.at(-1)?.account.id;
      // Reads of SQLite are synchronous, so other requests run between pages.
      await turn();
    }
  }

  async #raise(account: AccountId, { mark, read, details }: Due): Promise<void> {
    const { store, clock, log, observer } = this.deps;
    const alert = newAlert(account, mark.kind, details, clock.now());
    if (!(await store.alerts.raise(alert, mark, read))) return;
    observer.raised(alert.kind);
    log.info({ alert: alert.id, account, type: alert.kind, ...details }, 'raised an alert');
  }

  /** Begins attempts that are due, as many as there is room for. A slow destination delays only alerts of its own account. */
  async #deliver(): Promise<void> {
    const due = await this.deps.store.alerts.due(this.deps.clock.now(), 2 * attemptsAtOnce);
    for (const one of due) {
      const { accountId } = one.alert;
      if (this.#attempts.size >= attemptsAtOnce || this.#attempts.has(accountId)) continue;
      const attempt = this.#claimAndSend(one).finally(() => this.#attempts.delete(accountId));
      this.#attempts.set(accountId, attempt);
    }
  }

  async #claimAndSend(due: DueAlert): Promise<void> {
    const { store, clock, log } = this.deps;
    try {
      const nextAtMs = clock.now() + retryDelayMs(due.alert.attempts + 1);
      if (await store.alerts.claim(due.alert, nextAtMs)) await this.send(due);
    } catch (error) {
      log.error({ err: error, alert: due.alert.id }, 'an alert could not be delivered; trying again later');
    }
  }

  /** Sends an alert once, which is claimed, and records the outcome. One of the type `test` is not retried. */
  async send(due: DueAlert): Promise<void> {
    const { store, clock, observer, log } = this.deps;
    const { alert } = due;
    const { signal } = this.#closing;
    const outcome = await send(this.deps, due, signal);
    const nowMs = clock.now();
    if (outcome === 'accepted') {
      await store.alerts.endAttempt(alert, { state: 'delivered', atMs: nowMs });
      return observer.attempted('delivered');
    }
    const { failure, isFinal, isOff, retryAfterMs = 0 } = outcome;
    if (!isFinal && signal.aborted) return;
    const isLast = isFinal || alert.kind === 'test' || nowMs - alert.createdAtMs >= triedMsMax;
    // Failing destinations wait behind the others, as a slow one takes a place for the whole attempt.
    const nextAtMs = nowMs + Math.max(firstRetryMs, Math.min(retryAfterMs, retryMsMax));
    if (isOff) await store.alerts.turnOff(due, nowMs, failure);
    else await store.alerts.endAttempt(alert, { state: isLast ? 'failed' : 'pending', failure, nextAtMs });
    observer.attempted(isLast ? 'given_up' : 'failed');
    if (!isLast) return;
    const { id, accountId: account, kind: type, attempts } = alert;
    log.warn({ alert: id, account, type, attempts: attempts + 1, failure }, 'gave up delivering an alert');
  }
}

/**
 * The time from the beginning of an attempt to the next one.
 * @param attempt counted from 1
 */
export function retryDelayMs(attempt: number): number {
  return Math.min(firstRetryMs * 2 ** (attempt - 1), retryMsMax);
}

/** Raises an alert that is due at once. */
export function newAlert(accountId: AccountId, kind: AlertKind, details: AlertDetails, nowMs: number): Alert {
  return {
    id: newAlertId(nowMs),
    accountId,
    kind,
    createdAtMs: nowMs,
    details,
    state: 'pending',
    attempts: 0,
    nextAttemptAtMs: nowMs,
    deliveredAtMs: undefined,
    lastFailure: undefined,
  };
}
