/** Keys that manage the keys of their account, over REST. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LimitedParley, startLimited } from '../../support/limited-parley.ts';
import { bearer, errorOf } from '../../support/parley.ts';

interface KeyJson {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly limits?: Readonly<Record<string, unknown>>;
  readonly expires_at?: string;
  readonly last_used_at?: string;
}

let parley: LimitedParley;
beforeEach(async () => {
  parley = await startLimited();
  parley.engine.completionTokens = 1;
});
afterEach(() => parley.close());

/** A new key of an account, made by the operator. */
async function issue(
  facts: object,
  account = parley.accountId as string,
): Promise<{ key: KeyJson; secret: string }> {
  const body = JSON.stringify({ name: 'a', ...facts });
  const answer = await parley.call(`/admin/accounts/${account}/keys`, {
    method: 'POST',
    body,
    ...bearer(parley.adminKey),
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { key: KeyJson; secret: string };
}

const post = (path: string, secret: string, body: object = {}) => parley.postJson(path, body, bearer(secret));

describe('a key that manages', () => {
  it('creates, limits, rotates and revokes keys, which work at once', async () => {
    const boss = await issue({ scopes: ['chat', 'manage'] });
    const made = await post('/keys', boss.secret, { name: 'app', limits: { requests_per_minute: 5 } });
    const { key, secret } = (await made.json()) as { key: KeyJson; secret: string };
    expect(key).toMatchObject({ scopes: ['chat'], limits: { requests_per_minute: 5 } });
    expect((await parley.call('/models', bearer(secret))).status).toBe(200);
    expect((await post(`/keys/${key.id}/limits`, boss.secret, { limits: {} })).status).toBe(200);
    const rotated = (await (await post(`/keys/${key.id}/rotate`, boss.secret)).json()) as {
      key: KeyJson;
      secret: string;
    };
    expect((await parley.call('/models', bearer(secret))).status).toBe(401);
    expect((await parley.call('/models', bearer(rotated.secret))).status).toBe(200);
    expect((await post(`/keys/${rotated.key.id}/revoke`, boss.secret)).status).toBe(200);
    expect((await parley.call('/models', bearer(rotated.secret))).status).toBe(401);
    const audit = await parley.admin('/audit?page_size=100');
    const all = (await audit.json()) as { entries: { actor: string; action: string }[] };
    const entries = all.entries.filter(({ actor }) => actor === boss.key.id);
    expect(entries.map(({ action }) => action).sort()).toEqual([
      'key.create',
      'key.limits',
      'key.revoke',
      'key.rotate',
    ]);
  });

  it.each([
    ['scopes', { scopes: ['chat', 'speech'] }],
    ['expires_at', { expires_at: '2030-01-01T00:00:00Z' }],
    ['limits.models', { limits: { models: ['*'] } }],
    ['limits.addresses', { limits: { addresses: ['0.0.0.0/0'] } }],
    ['limits.requests_per_minute', { limits: { requests_per_minute: 11 } }],
    ['limits.budgets.total', { limits: { budgets: { total: '5.1' } } }],
  ])('gives no more than it has: %s', async (param, wanted) => {
    const boss = await issue({
      scopes: ['chat', 'manage'],
      expires_at: '2029-01-01T00:00:00Z',
      limits: {
        models: ['m', 'free-*'],
        addresses: ['127.0.0.0/8', '::/0'],
        requests_per_minute: 10,
        budgets: { total: '5' },
      },
    });
    const refused = await post('/keys', boss.secret, { name: 'b', ...wanted });
    expect(await errorOf(refused)).toMatchObject({ code: 'insufficient_scope', status: 403, param });
  });

  it('passes its expiry, models and addresses on', async () => {
    const boss = await issue({
      scopes: ['chat', 'manage'],
      expires_at: '2029-01-01T00:00:00Z',
      limits: { models: ['m'], addresses: ['127.0.0.0/8', '::/0'] },
    });
    const inherited = (await (await post('/keys', boss.secret, { name: 'c' })).json()) as { key: KeyJson };
    expect(inherited.key).toMatchObject({
      expires_at: '2029-01-01T00:00:00Z',
      limits: { models: ['m'], addresses: ['127.0.0.0/8', '::/0'] },
    });
  });

  it('creates no keys, and widens none, with its own budget or rate: each would start its own count', async () => {
    const other = await issue({ scopes: ['chat'], limits: { budgets: { month: '1' } } });
    for (const limits of [{ budgets: { month: '5' } }, { requests_per_minute: 10 }]) {
      const boss = await issue({ scopes: ['chat', 'manage'], limits });
      const made = await post('/keys', boss.secret, { name: 'c' });
      expect(await errorOf(made)).toMatchObject({ code: 'insufficient_scope', status: 403 });
      const loosened = await post(`/keys/${other.key.id}/limits`, boss.secret, { limits: {} });
      expect(await errorOf(loosened)).toMatchObject({ code: 'insufficient_scope' });
    }
  });

  it('rotates only itself with its own budget or rate: another key would get its remaining amount', async () => {
    for (const limits of [{ budgets: { month: '5' } }, { requests_per_minute: 10 }]) {
      const boss = await issue({ scopes: ['chat', 'manage'], limits });
      const sibling = await issue({ scopes: ['chat'], limits });
      const refused = await post(`/keys/${sibling.key.id}/rotate`, boss.secret);
      expect(await errorOf(refused)).toMatchObject({ code: 'insufficient_scope', status: 403 });
      expect((await parley.call('/models', bearer(sibling.secret))).status).toBe(200);
      // A key and its replacement share a budget, whichever rotates the other.
      const rotation = await post(`/keys/${boss.key.id}/rotate`, boss.secret, { overlap_seconds: 60 });
      const { secret } = (await rotation.json()) as { secret: string };
      expect((await post(`/keys/${boss.key.id}/rotate`, secret)).status).toBe(200);
    }
  });

  it('widens no limits of a key that may do more', async () => {
    const boss = await issue({ scopes: ['manage'] });
    const other = await issue({ scopes: ['chat'], limits: { budgets: { month: '5' } } });
    const tightened = await post(`/keys/${other.key.id}/limits`, boss.secret, {
      limits: { budgets: { month: '4' } },
    });
    expect(tightened.status).toBe(200);
    const loosened = await post(`/keys/${other.key.id}/limits`, boss.secret, { limits: {} });
    expect(await errorOf(loosened)).toMatchObject({ code: 'insufficient_scope', param: 'scopes' });
  });

  it.each([
    ['revoked', '/keys/KEY/revoke', 'invalid_api_key'],
    ['suspended', '/accounts/account-1/suspend', 'account_suspended'],
    ['deleted', '/accounts/account-1/delete', 'invalid_api_key'],
  ])('creates no key if it is %s while its request is still being sent', async (_, path, code) => {
    const boss = await issue({ scopes: ['chat', 'manage'] });
    const body = JSON.stringify({ name: 'late' });
    const slow = request(`${parley.baseUrl}/keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${boss.secret}`, 'content-length': body.length },
    });
    const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
    slow.write(body.slice(0, -1));
    // The gate has admitted it once another request, sent later, is answered.
    await parley.call('/keys', bearer(boss.secret));
    const admin = await parley.call(`/admin${path.replace('KEY', boss.key.id)}`, {
      ...bearer(parley.adminKey),
      method: 'POST',
    });
    expect(admin.status).toBe(200);
    slow.end(body.slice(-1));
    const [response] = await answered;
    expect(await json(response)).toMatchObject({ error: { code } });
  });

  it('gets no secret of a key that may do more, and does not widen itself', async () => {
    const boss = await issue({ scopes: ['chat', 'manage'], limits: { requests_per_minute: 10 } });
    const wide = await issue({});
    expect(await errorOf(await post(`/keys/${wide.key.id}/rotate`, boss.secret))).toMatchObject({
      code: 'insufficient_scope',
    });
    const widened = await post(`/keys/${boss.key.id}/limits`, boss.secret, {
      limits: { requests_per_minute: 11 },
    });
    expect(await errorOf(widened)).toMatchObject({ param: 'limits.requests_per_minute' });
    const kept = await post(`/keys/${boss.key.id}/limits`, boss.secret, {});
    expect(await kept.json()).toMatchObject({ limits: { requests_per_minute: 10 } });
  });

  it('cannot change keys of another account, or admin keys', async () => {
    const boss = await issue({ scopes: ['manage'] });
    await parley.newKey();
    const { store } = parley.app;
    const page = { size: 1, after: undefined };
    const [stranger] = (await store.keys.list((await store.accounts.find('account-2'))?.id, page)).items;
    const [admin] = (await store.keys.list(undefined, page)).items;
    for (const id of [stranger?.id, admin?.id]) {
      for (const change of ['limits', 'rotate', 'revoke']) {
        expect(await errorOf(await post(`/keys/${id}/${change}`, boss.secret))).toMatchObject({
          code: 'not_found',
          param: 'key_id',
        });
      }
    }
    const { keys } = (await (await parley.call('/keys', bearer(boss.secret))).json()) as { keys: KeyJson[] };
    expect(keys).toHaveLength(2);
  });

  it('sums the usage of its account by key, and lists its ledger', async () => {
    const boss = await issue({ scopes: ['chat', 'manage'] });
    const app = await parley.keyWith({});
    parley.clock.nowMs += 1;
    await Promise.all([app.chat(1), app.chat(1)]);
    const answer = await parley.call('/usage/totals?group_by=key&group_by=model', bearer(boss.secret));
    const { totals } = (await answer.json()) as { totals: Record<string, unknown>[] };
    expect(totals).toEqual([expect.objectContaining({ key_id: app.id, model: 'm', requests: 2, cost: '2' })]);
    const own = await parley.call(`/usage/totals?key_id=${boss.key.id}`, bearer(boss.secret));
    expect(await own.json()).toMatchObject({ totals: [{ requests: 1 }] });
    const { entries } = (await (await parley.call('/ledger', bearer(boss.secret))).json()) as {
      entries: { kind: string }[];
    };
    expect(entries.map(({ kind }) => kind)).toEqual(['debit', 'debit', 'load']);
  });

  it('is not needed to see the calling key, with the used amounts of its limits', async () => {
    const key = await parley.keyWith({ budgets: { day: '5' } });
    await key.chat(2);
    const answer = await parley.call('/key', bearer(key.secret));
    expect(await parley.recordOf(answer)).toMatchObject({ operation: 'account', keyId: key.id });
    expect(await answer.json()).toMatchObject({
      id: key.id,
      name: 'limited',
      limits: { budgets: { day: '5' } },
      limit_counts: [{ name: 'budgets.day', used: '1', limit: '5' }],
    });
    expect((await parley.call('/key', bearer(parley.adminKey))).status).toBe(403);
  });
});

describe('the operator', () => {
  const operate = (path: string, body: object = {}) =>
    post(`/admin/accounts/account-1/${path}`, parley.adminKey, body);
  const chat = (secret: string) =>
    post('/chat/completions', secret, {
      model: 'm',
      messages: [{ role: 'user', content: 'a' }],
      max_tokens: 1,
    });

  it('suspends and resumes an account', async () => {
    expect(await (await operate('suspend')).json()).toMatchObject({ suspended_at: '2026-11-10T12:00:00Z' });
    const refused = await chat(parley.apiKey);
    expect(await errorOf(refused)).toMatchObject({ code: 'account_suspended', status: 403 });
    expect(await parley.recordOf(refused)).toMatchObject({ state: 'refused', code: 'account_suspended' });
    await operate('resume');
    expect((await chat(parley.apiKey)).status).toBe(200);
  });

  it('renames an account, but not to a used name', async () => {
    await parley.newKey();
    expect(await errorOf(await operate('rename', { name: 'account-2' }))).toMatchObject({ param: 'name' });
    expect((await operate('rename', { name: 'account-1' })).status).toBe(200);
    expect(await (await operate('rename', { name: 'acme' })).json()).toMatchObject({ name: 'acme' });
    expect((await parley.call('/account', bearer(parley.apiKey))).status).toBe(200);
  });

  it('deletes an account: its keys are revoked, its name is free, its books stay', async () => {
    parley.clock.nowMs += 1;
    await chat(parley.apiKey);
    const deleted = (await (await operate('delete')).json()) as { id: string; name: string; balance: string };
    expect(deleted).toMatchObject({ id: parley.accountId, name: parley.accountId, balance: '9' });
    expect((await chat(parley.apiKey)).status).toBe(401);
    const admin = (path: string) => parley.call(`/admin${path}`, bearer(parley.adminKey));
    expect(await (await admin('/accounts')).json()).toMatchObject({ accounts: [], totals: { accounts: 0 } });
    const ledger = await (await admin(`/accounts/${parley.accountId}/ledger`)).json();
    expect(ledger).toMatchObject({ entries: [{ kind: 'debit' }, { kind: 'load' }] });
    const load = { amount: '1', reason: 'a', idempotency_key: 'b' };
    expect((await post(`/admin/accounts/${parley.accountId}/credits`, parley.adminKey, load)).status).toBe(
      404,
    );
    expect((await post('/admin/accounts', parley.adminKey, { name: 'account-1' })).status).toBe(200);
  });

  it('sees the last use of each key, to the minute', async () => {
    const key = await parley.keyWith({});
    const lastUse = async () => {
      const answer = await parley.admin('/accounts/account-1/keys');
      const { keys } = (await answer.json()) as { keys: KeyJson[] };
      return keys.find(({ id }) => id === key.id)?.last_used_at;
    };
    expect(await lastUse()).toBeUndefined();
    parley.clock.nowMs = Date.UTC(2026, 10, 10, 12, 0, 30);
    await key.chat(1);
    expect(await lastUse()).toBe('2026-11-10T12:00:00Z');
    parley.clock.nowMs = Date.UTC(2026, 10, 10, 13, 5, 10);
    expect((await key.chat(1, 'unknown')).status).toBe(400);
    expect(await lastUse()).toBe('2026-11-10T13:05:00Z');
  });

  it('shows operators the last use of each admin key, to the minute', async () => {
    const made = await parley.admin('/keys', { name: 'desk', scopes: ['keys'] });
    const { key, secret } = (await made.json()) as { key: KeyJson; secret: string };
    const lastUse = async () => {
      const { keys } = (await (await parley.admin('/keys')).json()) as { keys: KeyJson[] };
      return keys.find(({ id }) => id === key.id)?.last_used_at;
    };
    expect(await lastUse()).toBeUndefined();
    parley.clock.nowMs = Date.UTC(2026, 10, 10, 13, 5, 30);
    expect((await parley.call('/admin/keys', bearer(secret))).status).toBe(200);
    await expect.poll(lastUse).toBe('2026-11-10T13:05:00Z');
    parley.clock.nowMs += 3_600_000;
    expect((await parley.call('/admin/accounts', bearer(secret))).status).toBe(403);
    await expect.poll(lastUse).toBe('2026-11-10T14:05:00Z');
  });
});
