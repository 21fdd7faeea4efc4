/** Receives webhooks, and answers as a test decides. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ServerOptions } from 'node:https';
import { text } from 'node:stream/consumers';
import { startHttp } from './http-server.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly alert: Readonly<Record<string, unknown>>;
}

export interface WebhookReceiver {
  readonly origin: string;
  readonly received: Received[];
  /** The status of the next answers. */
  status: number;
  /** The body of the next answers. */
  answer: string;
  /** The header `Retry-After` of the next answers. */
  retryAfter: string | undefined;
  /** Whether it leaves requests without an answer. */
  holds: boolean;
  close(): Promise<void>;
}

/** @param tls certificate and key. Default: no TLS */
export async function startReceiver(tls?: ServerOptions): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const { origin, close } = await startHttp(async (request, response) => {
    const body = await text(request);
    const { method = '', url: path = '', headers } = request;
    received.push({ method, path, headers, body, alert: JSON.parse(body) });
    if (receiver.holds) return;
    const { retryAfter } = receiver;
    const wait = retryAfter !== undefined && { 'retry-after': retryAfter };
    response.writeHead(receiver.status, { location: `${origin}/elsewhere`, ...wait }).end(receiver.answer);
  }, tls);
  const receiver: WebhookReceiver = {
    origin,
    received,
    status: 200,
    answer: 'an answer',
    retryAfter: undefined,
    holds: false,
    close,
  };
  return receiver;
}

/** The settings of a server that may send to receivers of tests. */
export const toReceivers = { allowedNetworks: ['127.0.0.0/8'] };
