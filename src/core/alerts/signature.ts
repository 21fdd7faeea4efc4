/** Signs webhooks according to the Standard Webhooks specification (standardwebhooks.com), with a symmetric secret. */
import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
const secretBytes = 32;

export function newWebhookSecret(): string {
  return prefix + randomBytes(secretBytes).toString('base64');
}

/** @param id of the alert */
export function signedHeaders(
  { secret, id, nowMs }: { readonly secret: string; readonly id: string; readonly nowMs: number },
  body: string,
): Record<string, string> {
  const seconds = Math.floor(nowMs / 1000);
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': String(seconds), 'webhook-signature': `v1,${signature}` };
}
