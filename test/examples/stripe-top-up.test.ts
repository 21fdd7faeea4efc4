/** `examples/stripe-top-up`: events in Stripe's shapes, and of a signed webhook, move credits of a real Parley once. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createTopUp } from '../../examples/stripe-top-up/server.ts';
import { readSettings } from '../../examples/stripe-top-up/settings.ts';
import { readPage } from '../clients/page.ts';
import { shell } from '../clients/shell.ts';
import { startHttp } from '../support/http-server.ts';
import { bearer, startParley } from '../support/parley.ts';

const folder = new URL('../../examples/stripe-top-up/', import.meta.url);
const stripeSecret = 'whsec_of_the_stripe_endpoint';
const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const stripe = new Stripe('sk_test_123456789');

const sold: URLSearchParams[] = [];
const closing: (() => Promise<unknown>)[] = [];
/** Each test has a payment of its own, of an account of its own. */
let account: string;
let paymentId: string;
let count = 0;

const metadata = () => ({ parley_account: account, parley_credits: '20' });

const parley = await startParley();
/** Stripe's API, as far as the program calls it. */
const api = await startHttp(async (request, response) => {
  const body = await text(request);
  if (request.method === 'POST') sold.push(new URLSearchParams(body));
  const object =
    request.method === 'POST'
      ? { id: 'cs_test_1', object: 'checkout.session', url: 'https://checkout.stripe.com/c/pay/cs_test_1' }
      : {
          id: paymentId,
          object: 'payment_intent',
          amount: 4000,
          amount_received: 4000,
          metadata: metadata(),
        };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(object));
});
const scoped = await administer('/keys', { name: 'shop', scopes: ['credits:load'] });
const env = {
  PARLEY_URL: new URL(parley.baseUrl).origin,
  PARLEY_KEY: String(scoped['secret']),
  STRIPE_SECRET_KEY: 'sk_test_123456789',
  STRIPE_WEBHOOK_SECRET: stripeSecret,
  STRIPE_API_URL: api.origin,
  CENTS_PER_CREDIT: '200',
  CURRENCY: 'eur',
  RETURN_URL: 'https://example.com/thanks',
  WEBHOOK_SECRET: webhookSecret,
};
const server = createTopUp(readSettings(env)).listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
closing.push(() => new Promise((resolve) => server.close(resolve)));
afterAll(async () => {
  for (const close of closing) await close();
  await api.close();
  await parley.close();
});
beforeEach(async () => {
  const { id } = await administer('/accounts', { name: `buyer-${++count}` });
  account = String(id);
  paymentId = `pi_${count}`;
});

async function administer(path: string, body: object): Promise<Record<string, unknown>> {
  const answer = await parley.admin(path, body);
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
}

async function ledger(): Promise<[string, string, string][]> {
  const answer = await parley.admin(`/accounts/${account}/ledger`);
  const { entries } = (await answer.json()) as {
    entries: { kind: string; amount: string; reason: string }[];
  };
  return entries
    .map(({ kind, amount, reason }): [string, string, string] => [kind, amount, reason])
    .reverse();
}

/** An event in the shape of Stripe's documents. */
function event(type: string, object: object) {
  return {
    id: `evt_${++count}`,
    object: 'event',
    api_version: '2026-09-30',
    created: Math.floor(Date.now() / 1000),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
}

const session = (type: string, more: object = {}) =>
  event(`checkout.session.${type}`, {
    id: 'cs_test_1',
    object: 'checkout.session',
    amount_total: 4000,
    currency: 'eur',
    mode: 'payment',
    payment_intent: paymentId,
    payment_status: 'paid',
    status: 'complete',
    metadata: metadata(),
    ...more,
  });

const refund = (type: string, id: string, amount: number, status = 'succeeded') =>
  event(`refund.${type}`, {
    id,
    object: 'refund',
    amount,
    currency: 'eur',
    charge: 'ch_1',
    payment_intent: paymentId,
    reason: null,
    status,
  });

/** Posts an event as Stripe does. @param secret Default: the right one */
async function deliver(object: object, secret = stripeSecret, timestamp?: number) {
  const payload = JSON.stringify(object);
  const signature = stripe.webhooks.generateTestHeaderString({
    payload,
    secret,
    ...(timestamp && { timestamp }),
  });
  const headers = { 'stripe-signature': signature };
  const answer = await fetch(`${origin}/stripe`, { method: 'POST', body: payload, headers });
  return [answer.status, await answer.json()];
}

const done = [200, { entered: true }];
const ignored = [200, { entered: false }];
const wrong = [400, { error: expect.stringContaining('signature') }];
const later = [503, { error: expect.stringContaining('later') }];

describe('Stripe', () => {
  it('sells credits to the account of the key, and to nobody without one', async () => {
    const buy = (body: string, key: string) =>
      fetch(`${origin}/checkout`, { method: 'POST', body, headers: { authorization: `Bearer ${key}` } });
    const answer = await buy('{"credits":20}', parley.apiKey);
    expect(await answer.json()).toEqual({ url: 'https://checkout.stripe.com/c/pay/cs_test_1' });
    expect(Object.fromEntries(sold.at(-1) ?? [])).toMatchObject({
      mode: 'payment',
      'line_items[0][quantity]': '20',
      'line_items[0][price_data][unit_amount]': '200',
      'line_items[0][price_data][currency]': 'eur',
      'metadata[parley_account]': parley.accountId,
      'payment_intent_data[metadata][parley_credits]': '20',
    });
    expect((await buy('{"credits":20}', parley.adminKey)).status).toBe(401);
    for (const body of ['{"credits":0}', '{"credits":1.5}', '{"credits":"20"}', 'null', '{']) {
      expect([body, (await buy(body, parley.apiKey)).status]).toEqual([body, 400]);
    }
    expect(sold).toHaveLength(1);
    const page = await shell(readPage('../top-up').command('buy'), {
      env: { TOP_UP_URL: origin, PARLEY_API_KEY: parley.apiKey },
    });
    expect(JSON.parse(page.stdout)).toEqual({ url: expect.stringContaining('checkout.stripe.com') });
  });

  it('loads a payment once, however often and in which order its events come', async () => {
    const [completed, succeeded] = [session('completed'), session('async_payment_succeeded')];
    expect(await Promise.all([deliver(completed), deliver(completed)])).toEqual([done, done]);
    expect(await deliver(succeeded)).toEqual(done);
    expect(await deliver(session('completed', { payment_status: 'unpaid' }))).toEqual(ignored);
    expect(await ledger()).toEqual([['load', '20', `Stripe payment ${paymentId}`]]);
  });

  it('loads nothing before a payment is paid, for another product, or for another type', async () => {
    expect(await deliver(session('completed', { payment_status: 'unpaid' }))).toEqual(ignored);
    expect(await deliver(session('completed', { metadata: {} }))).toEqual(ignored);
    expect(await deliver(session('expired'))).toEqual(ignored);
    expect(await ledger()).toEqual([]);
  });

  it('refuses a wrong, missing, foreign or old signature', async () => {
    expect(await deliver(session('completed'), 'whsec_of_somebody_else')).toEqual(wrong);
    expect(await deliver(session('completed'), '')).toEqual(wrong);
    expect(await deliver(session('completed'), stripeSecret, Math.floor(Date.now() / 1000) - 600)).toEqual(
      wrong,
    );
    const bare = await fetch(`${origin}/stripe`, {
      method: 'POST',
      body: JSON.stringify(session('completed')),
    });
    expect(bare.status).toBe(400);
    expect(await ledger()).toEqual([]);
  });

  it('takes refunds back as adjustments, each once, in parts', async () => {
    expect(await deliver(session('completed'))).toEqual(done);
    expect(await deliver(refund('created', 're_1', 1000, 'pending'))).toEqual(ignored);
    expect(await deliver(refund('updated', 're_1', 1000))).toEqual(done);
    expect(await deliver(refund('updated', 're_1', 1000))).toEqual(done);
    expect(await deliver(refund('created', 're_2', 1))).toEqual(done);
    expect(await ledger()).toEqual([
      ['load', '20', `Stripe payment ${paymentId}`],
      ['adjustment', '-5', `Stripe refund re_1 of ${paymentId}`],
      ['adjustment', '-0.005', `Stripe refund re_2 of ${paymentId}`],
    ]);
  });

  it('lets Stripe send a refund again that comes before its payment', async () => {
    expect(await deliver(refund('created', 're_1', 4000))).toEqual(later);
    expect(await ledger()).toEqual([]);
    expect(await deliver(session('completed'))).toEqual(done);
    expect(await deliver(refund('created', 're_1', 4000))).toEqual(done);
    expect((await ledger()).map(([, amount]) => amount)).toEqual(['20', '-20']);
  });
});

describe('a signed webhook', () => {
  async function send(type: string, data: object, secret = webhookSecret, sentAt = new Date()) {
    const body = JSON.stringify({ type, data });
    const id = `msg_${++count}`;
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign(id, sentAt, body),
    };
    const answer = await fetch(`${origin}/webhook`, { method: 'POST', body, headers });
    return [answer.status, await answer.json()];
  }

  it('loads and takes back credits, each once', async () => {
    const payment = { id: `pay-${paymentId}`, account, credits: '2.5' };
    expect(await send('payment.succeeded', payment)).toEqual(done);
    expect(await send('payment.succeeded', payment)).toEqual(done);
    expect(await send('payment.refunded', { id: `back-${paymentId}`, account, credits: '1' })).toEqual(done);
    expect(await send('payment.created', payment)).toEqual(ignored);
    expect((await ledger()).map(([kind, amount]) => [kind, amount])).toEqual([
      ['load', '2.5'],
      ['adjustment', '-1'],
    ]);
  });

  it('refuses a wrong or old signature, and an id that had another amount', async () => {
    const payment = { id: `pay-${paymentId}`, account, credits: '1' };
    const foreign = `whsec_${Buffer.alloc(32, 8).toString('base64')}`;
    expect(await send('payment.succeeded', payment, foreign)).toEqual(wrong);
    expect(await send('payment.succeeded', payment, webhookSecret, new Date(Date.now() - 600_000))).toEqual(
      wrong,
    );
    expect(await send('payment.succeeded', { ...payment, credits: '-1' })).toEqual(later);
    expect(await send('payment.succeeded', payment)).toEqual(done);
    expect(await send('payment.succeeded', { ...payment, credits: '2' })).toEqual(later);
    expect((await ledger()).map(([, amount]) => amount)).toEqual(['1']);
  });

  it('refuses a body that is too large before it has arrived, and says so', async () => {
    const url = new URL('/webhook', origin);
    const request = httpRequest(url, { method: 'POST', headers: { 'content-length': 2 ** 30 } });
    request.on('error', () => {}).write(Buffer.alloc(600_000));
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect([response.statusCode, response.headers.connection]).toEqual([413, 'close']);
    expect(JSON.parse(await text(response))).toEqual({ error: 'The body is too large.' });
  });
});

describe('at its start', () => {
  it.each([
    ['STRIPE_WEBHOOK_SECRET', ''],
    ['STRIPE_WEBHOOK_SECRET', ' '],
    ['STRIPE_WEBHOOK_SECRET', 'whsec_'],
    ['WEBHOOK_SECRET', ''],
    ['WEBHOOK_SECRET', 'whsec_'],
    ['PARLEY_KEY', ''],
    ['CENTS_PER_CREDIT', '0'],
  ])('refuses %s=`%s`', (name, value) => {
    expect(() => readSettings({ ...env, [name]: value })).toThrow(name);
  });

  it('ends with the name of the missing secret', async () => {
    const { STRIPE_WEBHOOK_SECRET: _, ...others } = env;
    const program = spawn(process.execPath, [fileURLToPath(new URL('main.ts', folder))], { env: others });
    const [words, [code]] = await Promise.all([text(program.stderr), once(program, 'exit')]);
    expect([code, words]).toEqual([1, expect.stringContaining('STRIPE_WEBHOOK_SECRET must be')]);
  });

  it('needs the versions of its libraries that are tested here', () => {
    const versionsIn = (url: URL) => JSON.parse(readFileSync(url, 'utf8'));
    const { dependencies } = versionsIn(new URL('package.json', folder));
    const tested = versionsIn(new URL('../package.json', import.meta.url));
    expect(tested.dependencies).toMatchObject(dependencies);
  });
});

it('has no right but to load', async () => {
  const answer = await parley.call('/admin/accounts', bearer(env['PARLEY_KEY'] ?? ''));
  expect(answer.status).toBe(403);
});
