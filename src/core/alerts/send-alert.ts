/** Sends an alert to its destination, once. Only the form of the message differs between the kinds of destination. */
import { createHmac, randomBytes } from 'node:crypto';
import type { Destination, DueAlert } from '../entities/alert.ts';
import type { MailSender } from '../entities/mail.ts';
import type { WebhookOutcome, WebhookRequest, WebhookSender } from '../entities/webhook.ts';
import { alertAdvice, alertWords } from './alert-words.ts';
import { describeAlert, webhookBody } from './messages.ts';
import type { SecretSeal } from './secret-seal.ts';

export interface Senders {
  readonly sender: WebhookSender;
  /** Undefined if the server sends no mail. */
  readonly mail: MailSender | undefined;
  readonly seal: SecretSeal;
}

export type SendOutcome =
  | { readonly state: 'delivered' }
  | {
      /** `final`: another attempt is useless. `off`: so are further alerts. */
      readonly state: 'failed' | 'final' | 'off';
      /** A sentence. */
      readonly failure: string;
      /** The wait that the receiver asked for. */
      readonly retryAfterMs?: number | undefined;
    };

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

export async function sendAlert(
  senders: Senders,
  due: DueAlert,
  nowMs: number,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { alert, destination, sealedSecret = '' } = due;
  if (destination.kind === 'mail') return sendMail(senders, due, destination.addresses, signal);
  const secret = senders.seal.open(sealedSecret, alert.accountId);
  if (secret === undefined) return failed('The secret cannot be read. Set a new one.');
  const receiver = receivers[destination.kind];
  const request = { receiver: receiver.name, ...messageOf({ ...due, destination }, secret, nowMs) };
  return outcomeOf(receiver, await senders.sender.send(request, signal));
}

function failed(failure: string): SendOutcome {
  return { state: 'failed', failure };
}

async function sendMail(
  { mail }: Senders,
  due: DueAlert,
  to: readonly string[],
  signal: AbortSignal,
): Promise<SendOutcome> {
  if (mail === undefined) return failed('This server sends no mail: `alerts.smtp` is not set.');
  if (to.length === 0) return failed('No address is confirmed yet.');
  const { id, accountId } = due.alert;
  const { subject, advice } = noticeOf(due);
  const text = `${subject}.\n\n${advice}\n\nAccount: ${accountId}\nAlert: ${id}\n`;
  const outcome = await mail.send({ accountId, to, subject, text, id }, signal);
  if (outcome === 'accepted') return { state: 'delivered' };
  const { isFinal, failure, retryAfterMs } = outcome;
  return { state: isFinal ? 'final' : 'failed', failure, retryAfterMs };
}

/** The message in the form of its receiver. */
function messageOf(
  due: DueAlert & { readonly destination: OverHttp },
  secret: string,
  nowMs: number,
): Omit<WebhookRequest, 'receiver'> {
  const { alert, destination } = due;
  const headers = { 'content-type': 'application/json' };
  switch (destination.kind) {
    case 'webhook': {
      const body = webhookBody(alert);
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
  const { status, retryAfterMs } = outcome;
  if (status >= 200 && status < 300) return { state: 'delivered' };
  const answered = `${name} answered ${status}`;
  if (status === goneStatus) return { state: 'off', failure: `${answered} and is turned off.` };
  const isRedirect = status >= 300 && status < 400;
  const next = isRedirect ? ' Redirects are not followed.' : (advice?.[status] ?? '');
  return {
    state: refusals.includes(status) ? 'final' : 'failed',
    failure: `${answered}.${next}`,
    retryAfterMs,
  };
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
