/** `examples/apps/sign-up`: a person signs up in Chromium, buys credits through `examples/stripe-top-up` and chats. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Browser } from 'playwright-core';
import Stripe from 'stripe';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTopUp } from '../../examples/stripe-top-up/server.ts';
import { readSettings } from '../../examples/stripe-top-up/settings.ts';
import { violations } from '../support/axe-violations.ts';
import { launchBrowser, missingBrowser, openConsole } from '../support/console-browser.ts';
import { type ExampleProgram, startExample } from '../support/example-program.ts';
import { startHttp } from '../support/http-server.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';

const program = 'examples/apps/sign-up/main.ts';
const webhookSecret = 'whsec_of_the_stripe_endpoint';

describe.skipIf(missingBrowser)(`the sign-up ${missingBrowser ?? ''}`, () => {
  let parley: Parley;
  let browser: Browser;
  let signUp: ExampleProgram;
  /** Stripe's API and its page of payments. */
  let stripe: Awaited<ReturnType<typeof startHttp>>;
  let topUp: string;
  let env: Record<string, string>;
  let sold = new URLSearchParams();
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    parley = await startParley();
    stripe = await startHttp(async (request, response) => {
      if (request.url === '/pay') return response.end('<h1>Pay</h1>');
      if (request.method === 'POST') sold = new URLSearchParams(await text(request));
      const session = { id: 'cs_test_1', object: 'checkout.session', url: `${stripe.origin}/pay` };
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(session));
    });
    const parleyUrl = new URL(parley.baseUrl).origin;
    const shop = createTopUp(
      readSettings({
        PARLEY_URL: parleyUrl,
        PARLEY_KEY: await adminKey('credits:load'),
        STRIPE_SECRET_KEY: 'sk_test_123456789',
        STRIPE_WEBHOOK_SECRET: webhookSecret,
        STRIPE_API_URL: stripe.origin,
        CENTS_PER_CREDIT: '200',
        CURRENCY: 'eur',
        RETURN_URL: 'https://example.com/thanks',
      }),
    ).listen(0, '127.0.0.1');
    await once(shop, 'listening');
    closing.push(() => new Promise((resolve) => shop.close(resolve)));
    topUp = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
    const key = await adminKey('accounts:write', 'keys');
    env = { PARLEY_URL: parleyUrl, PARLEY_KEY: key, TOP_UP_URL: topUp, BEHIND_PROXY: '1' };
    signUp = await startExample(program, env);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await signUp.close();
    for (const close of closing) await close();
    await stripe.close();
    await parley.close();
  });

  async function adminKey(...scopes: string[]): Promise<string> {
    const answer = await parley.admin('/keys', { name: 'app', scopes });
    return ((await answer.json()) as { secret: string }).secret;
  }

  async function accountNames(): Promise<string[]> {
    const answer = await parley.admin('/accounts');
    const { accounts } = (await answer.json()) as { accounts: { name: string; deleted_at?: string }[] };
    return accounts.filter((account) => !account.deleted_at).map(({ name }) => name);
  }

  /** Sends a form as a browser at this address behind the proxy does. */
  async function send(path: string, form: Record<string, string>, address: string, site = 'same-origin') {
    const headers = { 'x-forwarded-for': `10.0.0.1, ${address}`, 'sec-fetch-site': site };
    const body = new URLSearchParams(form);
    const answer = await fetch(signUp.origin + path, { method: 'POST', body, headers, redirect: 'manual' });
    const page = await answer.text();
    return { status: answer.status, problem: /role="alert">(.*?)</.exec(page)?.[1] };
  }

  it('gives a key with a trial, and leads to credits for chat', async () => {
    const { page } = await openConsole(browser, { baseUrl: signUp.origin }, '/');
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('E-mail address').fill('Ada@Example.com');
    await page.getByRole('button', { name: 'Sign up' }).click();
    const key = (await page.locator('code').textContent()) ?? '';
    expect(await violations(page)).toEqual([]);
    const call = async (path: string, body: object) =>
      (await parley.postJson(path, body, bearer(key))).status;
    expect(await call('/audio/speech', { model: 'flite', voice: 'slt', input: 'Good morning.' })).toBe(200);
    const chat = { model: 'eliza', messages: [{ role: 'user', content: 'Good morning.' }] };
    expect(await call('/chat/completions', chat)).toBe(402);

    // In Firefox, Playwright appends to the number of a field.
    await page.getByLabel('Credits').clear();
    await page.getByLabel('Credits').fill('20');
    await page.getByRole('button', { name: 'Buy credits' }).click();
    await page.waitForURL(`${stripe.origin}/pay`);
    const account = (await (await parley.call('/account', bearer(key))).json()) as {
      id: string;
      name: string;
    };
    expect(account.name).toBe('ada@example.com');
    const metadata = { parley_account: account.id, parley_credits: '20' };
    expect(Object.fromEntries(sold)).toMatchObject({
      'metadata[parley_account]': metadata.parley_account,
      'metadata[parley_credits]': metadata.parley_credits,
    });
    expect(await pay(metadata)).toBe(200);
    expect(await call('/chat/completions', chat)).toBe(200);
  });

  /** Posts the event of a paid session as Stripe does. */
  async function pay(metadata: object): Promise<number> {
    const payment = { payment_intent: 'pi_1', payment_status: 'paid', metadata };
    const object = { id: 'cs_test_1', object: 'checkout.session', ...payment };
    const type = 'checkout.session.completed';
    const payload = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object } });
    const { webhooks } = new Stripe('sk_test_123456789');
    const signature = webhooks.generateTestHeaderString({ payload, secret: webhookSecret });
    const headers = { 'stripe-signature': signature };
    return (await fetch(`${topUp}/stripe`, { method: 'POST', body: payload, headers })).status;
  }

  it('makes one account for an address, also for two forms at once', async () => {
    const forms = ['bob@example.com', ' BOB@example.com', 'bob@example.com'];
    const answers = await Promise.all(forms.map((email) => send('/sign-up', { email }, '192.0.2.1')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const again = await send('/sign-up', { email: 'bob@example.com' }, '192.0.2.1');
    expect([again.status, again.problem]).toEqual([409, expect.stringContaining('already an account')]);
    const names = await accountNames();
    expect(names.filter((name) => /bob|sign-up/.test(name))).toEqual(['bob@example.com']);
  });

  it('leaves no account of a sign-up that breaks off, and takes the next one', async () => {
    const paths: string[] = [];
    // Between the page and Parley, a proxy refuses to make keys.
    const proxy = await startHttp(async (request, response) => {
      const { method = '', url = '', headers } = request;
      const body = await text(request);
      paths.push(url);
      if (method === 'POST' && url.endsWith('/keys')) return response.writeHead(503).end();
      const authorization = headers.authorization ?? '';
      const answer = await fetch(env['PARLEY_URL'] + url, {
        method,
        headers: { authorization },
        ...(body && { body }),
      });
      return response.writeHead(answer.status).end(await answer.text());
    });
    const half = await startExample(program, { ...env, PARLEY_URL: proxy.origin });
    const body = new URLSearchParams({ email: 'eve@example.com' });
    expect((await fetch(`${half.origin}/sign-up`, { method: 'POST', body })).status).toBe(503);
    expect(paths.at(-1)).toMatch(/\/delete$/);
    await proxy.close();
    await half.close();
    expect((await accountNames()).filter((name) => /eve|sign-up/.test(name))).toEqual([]);
    expect((await send('/sign-up', { email: 'eve@example.com' }, '192.0.2.2')).status).toBe(200);
  });

  it.each([
    ['192.0.2.3', '192.0.2.3', '192.0.2.4'],
    ['2001:db8::1', '2001:db8:0:0:8::2', '2001:db8:0:1::1'],
  ])('limits the sign-ups from %s', async (first, same, other) => {
    const email = `${first.replaceAll(/\W/g, '-')}@example.com`;
    for (let count = 0; count < 5; count++) await send('/sign-up', { email }, first);
    const refused = await send('/sign-up', { email: `new-${email}` }, same);
    expect([refused.status, refused.problem]).toEqual([429, expect.stringContaining('in an hour')]);
    expect((await send('/sign-up', { email: `new-${email}` }, other)).status).toBe(200);
  });

  it('says in plain words what is wrong', async () => {
    const problem = async (...args: Parameters<typeof send>) => Object.values(await send(...args));
    const address = '192.0.2.9';
    const form = { key: parley.apiKey, credits: '0' };
    expect(await problem('/sign-up', { email: '<b>' }, address)).toEqual([
      400,
      expect.stringMatching(/^Enter/),
    ]);
    expect(await problem('/buy', form, address)).toEqual([400, expect.stringContaining('whole number')]);
    expect(await problem('/buy', { ...form, key: 'pk_none' }, address)).toEqual([401, expect.any(String)]);
    expect(await problem('/buy', { ...form, key: 'ключ' }, address)).toEqual([400, expect.any(String)]);
    expect(await problem('/sign-up', { email: 'x'.repeat(5_000) }, address)).toEqual([
      413,
      expect.any(String),
    ]);
    expect(await problem('/buy', form, address, 'cross-site')).toEqual([403, expect.any(String)]);
    expect(await problem('/', {}, address)).toEqual([404, expect.any(String)]);
  });

  it('does not start without a key', async () => {
    await expect(startExample(program, {})).rejects.toThrow('PARLEY_KEY must be');
  });
});
