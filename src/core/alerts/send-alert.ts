/** Sends an alert to its destination, once. Only the form of the message differs between the kinds of destination. */
import type { Destination, DueAlert } from '../entities/alert.ts';
import type { MailSender } from '../entities/mail.ts';
import type { WebhookOutcome, WebhookRequest, WebhookSender } from '../entities/webhook.ts';
import { webhookBody } from './messages.ts';
import { mailText, matrixBody, noticeOf, slackBody } from './notices.ts';
import type { SecretSeal } from './secret-seal.ts';
import { signedHeaders } from './signature.ts';

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

type HttpKind = Exclude<Destination['kind'], 'mail'>;

const receivers: Readonly<Record<HttpKind, string>> = {
  webhook: 'The webhook',
  slack: 'Slack',
  matrix: 'The homeserver',
};
/** HTTP status by which a receiver refuses further alerts. Homeservers do not use it. */
const gone = 410;
/** Statuses by which a receiver refuses an alert for good. A webhook may be under repair, and a token may be replaced. */
const refusals: Readonly<Record<HttpKind, readonly number[]>> = {
  webhook: [],
  slack: [400, 403, 404],
  matrix: [403],
};

export async function sendAlert(
  senders: Senders,
  due: DueAlert,
  nowMs: number,
  signal: AbortSignal,
): Promise<SendOutcome> {
  const { destination } = due;
  if (destination.kind === 'mail') return sendMail(senders, due, destination.addresses, signal);
  const { alert, sealedSecret = '' } = due;
  const secret = senders.seal.open(sealedSecret, alert.accountId);
  if (secret === undefined) {
    return { state: 'failed', failure: 'The secret cannot be read. Set a new one.' };
  }
  const request = requestOf({ ...due, destination }, secret, nowMs);
  return judged(destination.kind, await senders.sender.send(request, signal));
}

async function sendMail(
  { mail }: Senders,
  due: DueAlert,
  to: readonly string[],
  signal: AbortSignal,
): Promise<SendOutcome> {
  if (mail === undefined) {
    return { state: 'failed', failure: 'This server sends no mail: `alerts.smtp` is not set.' };
  }
  if (to.length === 0) return { state: 'failed', failure: 'No address is confirmed yet.' };
  const { id, accountId } = due.alert;
  const notice = noticeOf(due);
  const text = mailText(notice, due.alert);
  const outcome = await mail.send({ accountId, to, subject: notice.subject, text, id }, signal);
  if (outcome === 'accepted') return { state: 'delivered' };
  const { isFinal, failure, retryAfterMs } = outcome;
  return { state: isFinal ? 'final' : 'failed', failure, retryAfterMs };
}

interface DueOverHttp extends DueAlert {
  readonly destination: Exclude<Destination, { readonly kind: 'mail' }>;
}

function requestOf(due: DueOverHttp, secret: string, nowMs: number): WebhookRequest {
  const { alert, destination } = due;
  const receiver = receivers[destination.kind];
  const json = { 'content-type': 'application/json' };
  switch (destination.kind) {
    case 'webhook': {
      const body = webhookBody(alert);
      const headers = { ...json, ...signedHeaders({ secret, id: alert.id, nowMs }, body) };
      return { method: 'POST', url: destination.url, receiver, headers, body };
    }
    case 'slack':
      return { method: 'POST', url: secret, receiver, headers: json, body: slackBody(noticeOf(due)) };
    case 'matrix': {
      const room = encodeURIComponent(destination.roomId);
      // The alert's id as the id of the transaction: a second attempt is not a second message.
      const path = `/_matrix/client/v3/rooms/${room}/send/m.room.message/${alert.id}`;
      const headers = { ...json, authorization: `Bearer ${secret}` };
      const url = `${destination.homeserverUrl}${path}`;
      return { method: 'PUT', url, receiver, headers, body: matrixBody(noticeOf(due)) };
    }
  }
}

function judged(kind: HttpKind, outcome: WebhookOutcome): SendOutcome {
  if ('failure' in outcome) return { state: 'failed', failure: outcome.failure };
  const { status, retryAfterMs } = outcome;
  if (status >= 200 && status < 300) return { state: 'delivered' };
  const answered = `${receivers[kind]} answered ${status}`;
  if (status === gone && kind !== 'matrix')
    return { state: 'off', failure: `${answered} and is turned off.` };
  const isRedirect = status >= 300 && status < 400;
  const failure = `${answered}.${isRedirect ? ' Redirects are not followed.' : ''}${adviceOn(kind, status)}`;
  return { state: refusals[kind].includes(status) ? 'final' : 'failed', failure, retryAfterMs };
}

function adviceOn(kind: HttpKind, status: number): string {
  if (kind === 'slack' && status === 404) return ' Its incoming webhook or channel is gone.';
  if (kind !== 'matrix') return '';
  if (status === 401) return ' The access token is not valid.';
  return status === 403 ? ' The user of the access token may not write in the room.' : '';
}
