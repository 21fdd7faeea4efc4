/** Keys that must not work: revoked, expired, rotated and past their overlap. Each gets the same refusal on every wire. */
import { type Client, ConnectError, createClient } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { afterAll, describe, expect, it } from 'vitest';
import { ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { bearer, errorOf, startParley, TestClock } from '../../support/parley.ts';

const hourMs = 3_600_000;
const clock = new TestClock();
const clients: Client<typeof CatalogService>[] = [];

const parley = await startParley({ clock });
const baseUrl = new URL(parley.baseUrl).origin;
const transports = [
  createConnectTransport({ baseUrl, httpVersion: '1.1' }),
  createGrpcTransport({ baseUrl }),
  createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
];
for (const transport of transports) clients.push(createClient(CatalogService, transport));
afterAll(() => parley.close());

async function admin<T>(path: string, body: object = {}): Promise<T> {
  const response = await parley.admin(path, body);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

interface NewKey {
  readonly secret: string;
  readonly key: { readonly id: string };
}

const newKey = (more: object = {}) => admin<NewKey>('/accounts/account-1/keys', { name: 'test', ...more });

const withKeyHeader = (secret: string) =>
  fetch(`${parley.baseUrl}/models`, { headers: { 'x-api-key': secret } });

async function expectAccepted({ secret }: NewKey): Promise<void> {
  expect((await parley.call('/models', bearer(secret))).status).toBe(200);
  expect((await withKeyHeader(secret)).status).toBe(200);
  const { headers } = bearer(secret);
  for (const client of clients) await client.listModels({}, { headers: new Headers(headers) });
}

async function expectRefused({ secret }: NewKey): Promise<void> {
  const refused = await parley.call('/models', bearer(secret));
  expect(await errorOf(refused)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  expect(await errorOf(await withKeyHeader(secret))).toMatchObject({ status: 401, code: 'invalid_api_key' });
  const { headers } = bearer(secret);
  for (const client of clients) {
    const error = await client
      .listModels({}, { headers: new Headers(headers) })
      .then(String, ConnectError.from);
    if (typeof error === 'string') throw new Error('the key was accepted');
    expect(error.findDetails(ErrorInfoSchema)[0]?.reason).toBe('invalid_api_key');
  }
}

describe('a plan', () => {
  const isEntitled = async (apiKey: string) => {
    const response = await parley.call('/audio/speech', {
      method: 'POST',
      body: '{"model":"flite","input":"Hello.","voice":"none"}',
      ...bearer(apiKey),
    });
    return (await errorOf(response)).code !== 'subscription_required';
  };

  it('neither begins nor ends again when the clock is set back', async () => {
    const apiKey = await parley.newKey();
    const { id: account } = (await (await parley.call('/account', bearer(apiKey))).json()) as { id: string };
    const endsAt = new Date(clock.nowMs + 30 * 24 * hourMs).toISOString();
    await admin(`/accounts/${account}/plan`, { ends_at: endsAt });
    expect(await isEntitled(apiKey)).toBe(true);
    clock.nowMs -= hourMs;
    expect(await isEntitled(apiKey)).toBe(true);
    clock.nowMs += 2 * hourMs;
    await parley.admin(`/accounts/${account}/plan/end`, {});
    expect(await isEntitled(apiKey)).toBe(false);
    clock.nowMs -= hourMs;
    expect(await isEntitled(apiKey)).toBe(false);
    clock.nowMs += hourMs;
  });
});

describe('a key', () => {
  it('is refused from the moment it is revoked', async () => {
    const key = await newKey();
    await expectAccepted(key);
    await admin(`/keys/${key.key.id}/revoke`);
    await expectRefused(key);
  });

  it('is refused from the moment it expires', async () => {
    const key = await newKey({ expires_at: new Date(clock.nowMs + hourMs).toISOString() });
    await expectAccepted(key);
    clock.nowMs += hourMs;
    await expectRefused(key);
  });

  it('that was rotated works beside its successor until the overlap ends', async () => {
    const old = await newKey();
    const next = await admin<NewKey>(`/keys/${old.key.id}/rotate`, { overlap_seconds: hourMs / 1000 });
    await expectAccepted(old);
    await expectAccepted(next);
    clock.nowMs += hourMs;
    await expectRefused(old);
    await expectAccepted(next);
  });

  it('that was revoked, or replaced without an overlap, is refused at any time of the clock', async () => {
    const [revoked, replaced] = [await newKey(), await newKey()];
    await admin(`/keys/${revoked.key.id}/revoke`);
    const next = await admin<NewKey>(`/keys/${replaced.key.id}/rotate`);
    const nowMs = clock.nowMs;
    for (const backMs of [hourMs, 30 * 24 * hourMs]) {
      clock.nowMs = nowMs - backMs;
      await expectRefused(revoked);
      await expectRefused(replaced);
      await expectAccepted(next);
    }
    clock.nowMs = nowMs;
  });

  it('that has expired stays so when the clock is set back by less than a day', async () => {
    const key = await newKey({ expires_at: new Date(clock.nowMs + hourMs).toISOString() });
    const rotated = await newKey();
    await admin<NewKey>(`/keys/${rotated.key.id}/rotate`, { overlap_seconds: hourMs / 1000 });
    const nowMs = clock.nowMs;
    clock.nowMs += hourMs;
    await expectRefused(key);
    clock.nowMs = nowMs;
    await expectRefused(key);
    await expectRefused(rotated);
    // A clock that is set back further was wrong before, and must not lock anybody out.
    clock.nowMs += hourMs + 1;
    await expectRefused(key);
    clock.nowMs -= 25 * hourMs;
    await expectAccepted(key);
    clock.nowMs = nowMs;
  });

  it('that was never issued is refused, whether or not it is well formed', async () => {
    const { secret, key } = await newKey();
    const replaced = `${secret.slice(0, 10)}${secret[10] === 'a' ? 'b' : 'a'}${secret.slice(11)}`;
    for (const unknown of [replaced, 'pk_', 'sk-something']) await expectRefused({ secret: unknown, key });
  });
});

describe('a malformed header', () => {
  const messageFor = async (authorization: string) => {
    const refused = await errorOf(await parley.call('/models', { headers: { authorization } }));
    expect(refused).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(refused.message).not.toContain(parley.apiKey.slice(3, 12));
    return refused.message;
  };

  it('is refused with its flaw named, but without the key itself', async () => {
    const { apiKey } = parley;
    const half = apiKey.slice(0, 20);
    const send = ' Send it as `Authorization: Bearer <API_KEY>`.';
    for (const [header, problem] of [
      [`Bearer "${apiKey}"`, 'The API key is in quotation marks.'],
      [`Bearer <${apiKey}>`, 'The API key is in angle brackets.'],
      [`Bearer ${apiKey}\\n`, 'The API key ends with a written-out line break.'],
      [`Bearer ${apiKey}%0A`, 'The API key ends with a written-out line break.'],
      [`Bearer ${half} ${apiKey.slice(20)}`, 'The API key has a space after its first 20 characters.'],
      [`Bearer ${half}\t${apiKey.slice(20)}`, 'The API key has a tab after its first 20 characters.'],
      [apiKey, 'The `Authorization` header must be `Bearer` and a key.'],
      [`Bearer ${half}`, 'The API key is unknown, expired or revoked. A valid one is needed.'],
    ] as const) {
      expect(await messageFor(header)).toBe(problem + send);
    }
  });

  it('is accepted if only white space is around the key', async () => {
    for (const header of [`Bearer   ${parley.apiKey}`, `bearer\t${parley.apiKey} `]) {
      expect((await parley.call('/models', { headers: { authorization: header } })).status).toBe(200);
    }
  });
});
