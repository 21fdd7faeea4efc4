/**
 * Sends alerts to their destinations at least once. Each attempt is claimed before it begins, so that several nodes and restarts
 * share the work.
 */

import type { Alert, DueAlert } from '../entities/alert.ts';
import type { Store } from '../entities/store.ts';
import type { AlertObserver } from '../entities/webhook.ts';
import type { Clock } from '../values/clock.ts';
import type { AccountId } from '../values/ids.ts';
import type { Log } from '../values/log.ts';
import { type Senders, sendAlert } from './send-alert.ts';

/** Pause after the first attempt. It is longer than an attempt, so that two never run at once. */
const firstRetryMs = 15_000;
const retryMsMax = 4 * 3_600_000;
/** Age at which an alert is given up after a failed attempt. */
const triedMsMax = 3 * 86_400_000;
/** Concurrent attempts. */
const attemptsAtOnce = 16;

export interface DeliveriesDeps extends Senders {
  readonly store: Pick<Store, 'alerts'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: AlertObserver;
}

/**
 * The time from the beginning of an attempt to the next one.
 * @param attempt counted from 1
 */
export function retryDelayMs(attempt: number): number {
  return Math.min(firstRetryMs * 2 ** (attempt - 1), retryMsMax);
}

export class Deliveries {
  readonly #deps: DeliveriesDeps;
  readonly #closing = new AbortController();
  readonly #running = new Map<AccountId, Promise<void>>();

  constructor(deps: DeliveriesDeps) {
    this.#deps = deps;
  }

  /** Begins attempts that are due, as many as there is room for. A slow destination delays only alerts of its own account. */
  async begin(): Promise<void> {
    const due = await this.#deps.store.alerts.due(this.#deps.clock.now(), 2 * attemptsAtOnce);
    for (const one of due) {
      const { accountId } = one.alert;
      if (this.#running.size >= attemptsAtOnce || this.#running.has(accountId)) continue;
      const attempt = this.#attemptLater(one).finally(() => this.#running.delete(accountId));
      this.#running.set(accountId, attempt);
    }
  }

  /** Ends running attempts. Their alerts stay pending, and are tried again after the usual pause. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#running.values());
  }

  /** Sends once, and records the outcome. An alert of type `test` is not retried. */
  async attempt(due: DueAlert): Promise<void> {
    const { store, clock } = this.#deps;
    const attempt = due.alert.delivery.attempts + 1;
    const outcome = await sendAlert(this.#deps, due, clock.now(), this.#closing.signal);
    const nowMs = clock.now();
    if (outcome.state === 'delivered') {
      await store.alerts.endAttempt(due.alert, { state: 'delivered', atMs: nowMs });
      this.#deps.observer.attempted('delivered');
      return;
    }
    if (outcome.state === 'failed' && this.#closing.signal.aborted) return;
    const { failure, retryAfterMs = 0 } = outcome;
    if (outcome.state === 'off') {
      await store.alerts.turnOff(due, nowMs, failure);
      this.#gaveUp(due.alert, attempt, failure);
      return;
    }
    const isTooOld = nowMs - due.alert.createdAtMs >= triedMsMax;
    const isLast = outcome.state === 'final' || due.alert.kind === 'test' || isTooOld;
    // Failing destinations wait behind the others, as a slow one takes a place for the whole attempt.
    const nextAtMs = nowMs + Math.max(firstRetryMs, Math.min(retryAfterMs, retryMsMax));
    await store.alerts.endAttempt(due.alert, { state: isLast ? 'failed' : 'pending', failure, nextAtMs });
    if (isLast) this.#gaveUp(due.alert, attempt, failure);
    else this.#deps.observer.attempted('failed');
  }

  async #attemptLater(due: DueAlert): Promise<void> {
    const { store, clock, log } = this.#deps;
    try {
      const nextAtMs = clock.now() + retryDelayMs(due.alert.delivery.attempts + 1);
      if (await store.alerts.claim(due.alert, nextAtMs)) await this.attempt(due);
    } catch (error) {
      log.error({ err: error, alert: due.alert.id }, 'an alert could not be delivered; trying again later');
    }
  }

  #gaveUp({ id: alert, accountId: account, kind: type }: Alert, attempts: number, failure: string): void {
    this.#deps.observer.attempted('given_up');
    this.#deps.log.warn({ alert, account, type, attempts, failure }, 'gave up delivering an alert');
  }
}
