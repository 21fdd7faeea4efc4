/**
 * Sends alerts to their destinations at least once. Each attempt is claimed before it begins, so that several nodes and restarts
 * share the work. Only the form of the message differs between the kinds of destination.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { toJsonString } from '@bufbuild/protobuf';
import { AlertSchema } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type {
  AlertObserver,
  Destination,
  DueAlert,
  MailSender,
  SendOutcome,
  WebhookOutcome,
  WebhookRequest,
  WebhookSender,
} from '../entities/alert.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import type { AccountId } from '../values/ids.ts';
import type { Log } from '../values/log.ts';
import { alertAdvice, alertWords } from './alert-words.ts';
import { describeAlert } from './messages.ts';
import type { SecretSeal } from './secret-seal.ts';

/** Pause after the first attempt. It is longer than an attempt, so that two never run at once. */
const firstRetryMs = 15_000;
const retryMsMax = 4 * 3_600_000;
/** Age at which an alert is given up after a failed attempt. */
const triedMsMax = 3 * 86_400_000;
/** Concurrent attempts. */
const attemptsAtOnce = 16;

export interface DeliveriesDeps {
  readonly store: Pick<Store, 'alerts'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: AlertObserver;
  readonly sender: WebhookSender;
  /** Undefined if the server sends no mail. */
  readonly mail: MailSender | undefined;
  readonly seal: SecretSeal;
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
    const { store, clock, observer, log } = this.#deps;
    const { alert } = due;
    const { signal } = this.#closing;
    const outcome = await send(this.#deps, due, signal);
    const nowMs = clock.now();
    if (outcome === 'accepted') {
      await store.alerts.endAttempt(alert, { state: 'delivered', atMs: nowMs });
      observer.attempted('delivered');
      return;
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
    const { id, accountId: account, kind: type, delivery } = alert;
    const attempts = delivery.attempts + 1;
    log.warn({ alert: id, account, type, attempts, failure }, 'gave up delivering an alert');
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
}

type OverHttp = Exclude<Destination, { readonly kind: 'mail' }>;

interface Receiver {
  /** The subject of a sentence. */
  readonly name: string;
  /** Status by which it refuses all further alerts. */
  readonly goneStatus?: number;
  /** Statuses by which it refuses an alert for good. */
  readonly refusals: readonly number[];
  readonly advice?: Readonly<Record<number, string>>;
}

/** A webhook may be under repair, and a token may be replaced. Homeservers do not use 410. */
const receivers: Readonly<Record<OverHttp['kind'], Receiver>> = {
  webhook: { name: 'The webhook', goneStatus: 410, refusals: [] },
  slack: {
    name: 'Slack',
    goneStatus: 410,
    refusals: [400, 403, 404],
    advice: { 404: ' Its incoming webhook or channel is gone.' },
  },
  matrix: {
    name: 'The homeserver',
    refusals: [403],
    advice: {
      401: ' The access token is not valid.',
      403: ' The user of the access token may not write in the room.',
    },
  },
};

async function send(
  { sender, mail, seal, clock }: DeliveriesDeps,
  due: DueAlert,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { alert, destination, sealedSecret = '' } = due;
  const { id, accountId } = alert;
  if (destination.kind === 'mail') {
    const { addresses: to } = destination;
    if (mail === undefined) return failed('This server sends no mail: `alerts.smtp` is not set.');
    if (to.length === 0) return failed('No address is confirmed yet.');
    const { subject, advice } = noticeOf(due);
    const text = `${subject}.\n\n${advice}\n\nAccount: ${accountId}\nAlert: ${id}\n`;
    return mail.send({ accountId, to, subject, text, id }, signal);
  }
  const secret = seal.open(sealedSecret, accountId);
  if (secret === undefined) return failed('The secret cannot be read. Set a new one.');
  const receiver = receivers[destination.kind];
  const request = { receiver: receiver.name, ...messageOf(due, destination, secret, clock.now()) };
  return outcomeOf(receiver, await sender.send(request, signal));
}

function failed(failure: string): SendOutcome {
  return { failure, isFinal: false };
}

/** The message in the form of its receiver. */
function messageOf(
  due: DueAlert,
  destination: OverHttp,
  secret: string,
  nowMs: number,
): Omit<WebhookRequest, 'receiver'> {
  const { alert } = due;
  const headers = { 'content-type': 'application/json' };
  switch (destination.kind) {
    case 'webhook': {
      const message = describeAlert(alert);
      // The same in each attempt.
      delete message.delivery;
      const body = toJsonString(AlertSchema, message);
      const signed = { ...headers, ...signedHeaders({ secret, id: alert.id, nowMs }, body) };
      return { method: 'POST', url: destination.url, headers: signed, body };
    }
    case 'slack':
      return { method: 'POST', url: secret, headers, body: slackBody(noticeOf(due)) };
    case 'matrix': {
      const { homeserverUrl, roomId } = destination;
      // The alert's id as the id of the transaction: a second attempt is not a second message.
      const path = `rooms/${encodeURIComponent(roomId)}/send/m.room.message/${alert.id}`;
      const { subject, advice } = noticeOf(due);
      return {
        method: 'PUT',
        url: `${homeserverUrl}/_matrix/client/v3/${path}`,
        headers: { ...headers, authorization: `Bearer ${secret}` },
        body: JSON.stringify({ msgtype: 'm.text', body: `${subject}.\n${advice}` }),
      };
    }
  }
}

function outcomeOf({ name, goneStatus, refusals, advice }: Receiver, outcome: WebhookOutcome): SendOutcome {
  if ('failure' in outcome) return failed(outcome.failure);
  const { status, ...wait } = outcome;
  if (status >= 200 && status < 300) return 'accepted';
  const answered = `${name} answered ${status}`;
  if (status === goneStatus) return { failure: `${answered} and is turned off.`, isFinal: true, isOff: true };
  const isRedirect = status >= 300 && status < 400;
  const next = isRedirect ? ' Redirects are not followed.' : (advice?.[status] ?? '');
  return { failure: `${answered}.${next}`, isFinal: refusals.includes(status), ...wait };
}

/** An alert as people read it: a line with the account and what happened, and advice. */
export function noticeOf({ alert, accountName }: Pick<DueAlert, 'alert' | 'accountName'>) {
  const message = describeAlert(alert);
  // The name of an account may hold any characters.
  const name = accountName.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ');
  return { subject: `${name}: ${alertWords(message)}`, advice: alertAdvice(message) };
}

/** The body of a Slack message, with a text for notifications and one block. */
export function slackBody({ subject, advice }: ReturnType<typeof noticeOf>): string {
  // Slack's own rule for text that is not markup.
  const escaped = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const text = escaped(`${subject}.`);
  const block = { type: 'section', text: { type: 'mrkdwn', text: `*${text}*\n${escaped(advice)}` } };
  return JSON.stringify({ text, blocks: [block] });
}

const secretPrefix = 'whsec_';

/** A symmetric secret of the Standard Webhooks specification (standardwebhooks.com). */
export function newWebhookSecret(): string {
  return secretPrefix + randomBytes(32).toString('base64');
}

/** Signs a webhook according to Standard Webhooks. @param id of the alert */
export function signedHeaders(
  { secret, id, nowMs }: { readonly secret: string; readonly id: string; readonly nowMs: number },
  body: string,
): Record<string, string> {
  const seconds = Math.floor(nowMs / 1000);
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}
