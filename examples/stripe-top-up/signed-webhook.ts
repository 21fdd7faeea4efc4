/** Turns the events of any other shop into entries of the ledger. They are signed according to Standard Webhooks. */
import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';
import type { Entry } from './parley.ts';

const kinds = { 'payment.succeeded': 'credits', 'payment.refunded': 'adjustments' } as const;

/** @throws an error of the library for a signature that is wrong or older than five minutes */
export function verifiedEvent(secret: string, body: Buffer, headers: IncomingHttpHeaders): unknown {
  const named = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
    name,
    String(headers[name]),
  ]);
  return new Webhook(secret).verify(body.toString(), Object.fromEntries(named));
}

/** Undefined for an event that moves no credits. @throws Error for one that lacks a member */
export function entryOf(event: unknown): Entry | undefined {
  const { type, data } = event as { type?: unknown; data?: Readonly<Record<string, unknown>> };
  if (type !== 'payment.succeeded' && type !== 'payment.refunded') return undefined;
  const { id, account, credits } = data ?? {};
  if (!isText(id) || !isText(account) || !isText(credits) || !/^\d{1,9}(\.\d{1,9})?$/.test(credits)) {
    throw new Error(`${type} needs id, account and credits as texts`);
  }
  const kind = kinds[type];
  const amount = kind === 'credits' ? credits : `-${credits}`;
  return { kind, account, amount, reason: `${type} ${id}`, once: id };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= 100;
}
