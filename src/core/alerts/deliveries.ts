/** Sends an alert to its destination. Only the form of the message differs between the kinds of destination. */
import { createHmac, randomBytes } from 'node:crypto';
import { toJsonString } from '@bufbuild/protobuf';
import { AlertSchema } from '../../../gen/parley/alerts/v1/alerts_pb.ts';
import type { SecretSeal } from '../access/sealed.ts';
import type {
  AlertObserver,
  Destination,
  DueAlert,
  WebhookOutcome,
  WebhookRequest,
  WebhookSender,
} from '../entities/alert.ts';
import type { MailSender, SendOutcome } from '../entities/mail.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import type { Log } from '../values/log.ts';
import { alertAdvice, alertWords } from './alert-words.ts';
import { describeAlert } from './messages.ts';

export interface SendingDeps {
  readonly store: Pick<Store, 'alerts'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: AlertObserver;
  readonly sender: WebhookSender;
  /** Undefined if nothing is mailed from here. */
  readonly mail: MailSender | undefined;
  readonly seal: SecretSeal;
}

export async function send(
  { sender, mail, seal, clock }: SendingDeps,
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
  const { headers, ...message } = messageTo(destination, due, secret, clock.now());
  const request = {
    method: 'POST' as const,
    url: destination.url,
    receiver: receiver.name,
    headers: { 'content-type': 'application/json', ...headers },
    ...message,
  };
  return outcomeOf(receiver, await sender.send(request, signal));
}

function failed(failure: string): SendOutcome {
  return { failure, isFinal: false };
}

type OverHttp = Exclude<Destination, { readonly kind: 'mail' }>;

interface Receiver {
  /** The subject of a sentence. */
  readonly name: string;
  /** Status by which it refuses all further alerts. */
  readonly goneStatus?: number;
  /** Statuses by which it refuses an alert for good. */
  readonly refusals: readonly number[];
  readonly advice: Readonly<Record<number, string>>;
}

/** A webhook may be under repair, and a token may be replaced. Homeservers do not use 410. */
const receivers: Readonly<Record<OverHttp['kind'], Receiver>> = {
  webhook: { name: 'The webhook', goneStatus: 410, refusals: [], advice: {} },
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

/** The message in the form of its receiver, by default as a POST to the URL of the destination. */
function messageTo(
  { kind, url, roomId = '' }: OverHttp,
  due: DueAlert,
  secret: string,
  nowMs: number,
): Partial<WebhookRequest> & { readonly body: string } {
  const { id } = due.alert;
  if (kind === 'slack') return { url: secret, body: slackBody(noticeOf(due)) };
  if (kind === 'matrix') {
    const { subject, advice } = noticeOf(due);
    return {
      method: 'PUT',
      // The alert's id as the id of the transaction: a second attempt is not a second message.
      url: `${url}/_matrix/client/v3/rooms/${encodeURIComponent(roomId)}/send/m.room.message/${id}`,
      headers: { authorization: `Bearer ${secret}` },
      body: JSON.stringify({ msgtype: 'm.text', body: `${subject}.\n${advice}` }),
    };
  }
  const message = describeAlert(due.alert);
  // The same in each attempt.
  delete message.delivery;
  const body = toJsonString(AlertSchema, message);
  return { headers: signedHeaders({ secret, id, nowMs }, body), body };
}

function outcomeOf({ name, goneStatus, refusals, advice }: Receiver, outcome: WebhookOutcome): SendOutcome {
  if ('failure' in outcome) return failed(outcome.failure);
  const { status, ...wait } = outcome;
  if (status >= 200 && status < 300) return 'accepted';
  const answered = `${name} answered ${status}`;
  if (status === goneStatus) return { failure: `${answered} and is turned off.`, isFinal: true, isOff: true };
  const isRedirect = status >= 300 && status < 400;
  const next = isRedirect ? ' Redirects are not followed.' : (advice[status] ?? '');
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
