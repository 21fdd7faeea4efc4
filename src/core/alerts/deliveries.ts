/**
 * Sends alerts to webhooks at least once. Each attempt is claimed before it begins, so that several nodes and restarts
 * share the work.
 */

import type { Alert, DueAlert } from '../entities/alert.ts';
import type { Store } from '../entities/store.ts';
import type { AlertObserver, WebhookOutcome, WebhookSender } from '../entities/webhook.ts';
import type { Clock } from '../values/clock.ts';
import type { AccountId } from '../values/ids.ts';
import type { Log } from '../values/log.ts';
import { webhookBody } from './messages.ts';
import type { SecretSeal } from './secret-seal.ts';
import { signedHeaders } from './signature.ts';

/** Pause after the first attempt. It is longer than an attempt, so that two never run at once. */
const firstRetryMs = 15_000;
const retryMsMax = 4 * 3_600_000;
/** Age at which an alert is given up after a failed attempt. */
const triedMsMax = 3 * 86_400_000;
/** Concurrent attempts. */
const attemptsAtOnce = 16;
/** HTTP status by which a receiver refuses further alerts. */
const gone = 410;

export interface DeliveriesDeps {
  readonly store: Pick<Store, 'alerts'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly sender: WebhookSender;
  readonly seal: SecretSeal;
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

  /** Begins attempts that are due, as many as there is room for. A slow webhook delays only alerts of its own account. */
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
    const { accountId, delivery } = due.alert;
    const attempt = delivery.attempts + 1;
    const outcome = await this.#post(due);
    if ('failure' in outcome && this.#closing.signal.aborted) return;
    const nowMs = clock.now();
    if ('status' in outcome && outcome.status >= 200 && outcome.status < 300) {
      await store.alerts.endAttempt(due.alert, { state: 'delivered', atMs: nowMs });
      this.#deps.observer.attempted('delivered');
      return;
    }
    const failure = failureOf(outcome);
    if ('status' in outcome && outcome.status === gone) {
      await store.alerts.turnWebhookOff(accountId, due.webhookUrl, nowMs, failure);
      this.#gaveUp(due.alert, attempt, failure);
      return;
    }
    const isLast = due.alert.kind === 'test' || nowMs - due.alert.createdAtMs >= triedMsMax;
    // Failing webhooks wait behind the others, as a slow one takes a place for the whole attempt.
    const nextAtMs = nowMs + firstRetryMs;
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

  async #post({ alert, webhookUrl: url, sealedSecret }: DueAlert): Promise<WebhookOutcome> {
    const { clock, sender, seal } = this.#deps;
    const secret = seal.open(sealedSecret, alert.accountId);
    if (secret === undefined) return { failure: 'The secret cannot be read. Create a new one.' };
    const body = webhookBody(alert);
    const signature = signedHeaders({ secret, id: alert.id, nowMs: clock.now() }, body);
    return sender.post(
      { url, body, headers: { 'content-type': 'application/json', ...signature } },
      this.#closing.signal,
    );
  }

  #gaveUp({ id: alert, accountId: account, kind: type }: Alert, attempts: number, failure: string): void {
    this.#deps.observer.attempted('given_up');
    this.#deps.log.warn({ alert, account, type, attempts, failure }, 'gave up delivering an alert');
  }
}

function failureOf(outcome: WebhookOutcome): string {
  if ('failure' in outcome) return outcome.failure;
  const { status } = outcome;
  if (status === gone) return 'The webhook answered 410 and is turned off.';
  const advice = status >= 300 && status < 400 ? ' Redirects are not followed.' : '';
  return `The webhook answered ${status}.${advice}`;
}
