import { afterAll, describe, expect, it } from 'vitest';
import { bearer, errorOf, startParley, TestClock } from '../../support/parley.ts';

interface KeyAnswer {
  key: {
    id: string;
    account_id: string;
    prefix: string;
    last_four: string;
    scopes: string[];
    expires_at?: string;
  };
  secret: string;
}

const clock = new TestClock();
const parley = await startParley({ clock });
afterAll(() => parley.close());

describe('the account and admin paths', () => {
  const admin = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    const response = await parley.call(`/admin${path}`, {
      method,
      ...bearer(parley.adminKey),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as T;
    if (response.status !== 200) throw new Error(JSON.stringify(answer));
    return answer;
  };

  it('show the holder of a key their plan, balance and fair use', async () => {
    expect(await (await parley.call('/account')).json()).toMatchObject({
      name: 'account-1',
      balance: '10',
      balance_nano_credits: 10_000_000_000,
      subscription: { state: 'trial', ends_at: '2026-11-24T12:00:00Z' },
      fair_use: { limit_units: 300_000, used_units: 0, resets_at: '2026-12-01T00:00:00Z' },
    });
  });

  it('create accounts, start their trial once and load credits once per idempotency key', async () => {
    await admin('POST', '/accounts', { name: 'acme' });
    await expect(admin('POST', '/accounts', { name: 'acme' })).rejects.toThrow('already');
    expect(await admin('POST', '/accounts/acme/trial')).toMatchObject({ subscription: { state: 'trial' } });
    await expect(admin('POST', '/accounts/acme/trial')).rejects.toThrow('had its trial');
    const load = { amount: '2.5', reason: 'Invoice 7', idempotency_key: 'invoice-7' };
    expect(await admin('POST', '/accounts/acme/credits', load)).toMatchObject({ balance: '2.5' });
    expect(await admin('POST', '/accounts/acme/credits', load)).toMatchObject({ balance: '2.5' });
    await expect(admin('POST', '/accounts/acme/credits', { ...load, amount: '3' })).rejects.toThrow(
      'idempotency_conflict',
    );
    expect(await admin('GET', '/accounts/acme')).toMatchObject({ name: 'acme', balance: '2.5' });
  });

  it.each([
    [{ reason: 'x', idempotency_key: 'a' }, 'amount'],
    [{ amount: '-1', reason: 'x', idempotency_key: 'a' }, 'amount'],
    [{ amount: '0', reason: 'x', idempotency_key: 'a' }, 'amount'],
    [{ amount: 5, reason: 'x', idempotency_key: 'a' }, 'amount'],
    [{ amount: '1', idempotency_key: 'a' }, 'reason'],
    [{ amount: '1', reason: 'x' }, 'idempotency_key'],
  ])('refuse the load %j', async (load, param) => {
    await expect(admin('POST', '/accounts/account-1/credits', load)).rejects.toThrow(`"param":"${param}"`);
  });

  it('create keys that work at once, rotate them with an overlap, and revoke them at once', async () => {
    const made = await admin<KeyAnswer>('POST', '/accounts/account-1/keys', {
      name: 'app',
      scopes: ['chat'],
    });
    expect(made.key).toMatchObject({ prefix: 'pk_', scopes: ['chat'], last_four: made.secret.slice(-4) });
    const works = async (secret: string) => (await parley.call('/models', bearer(secret))).status === 200;
    expect(await works(made.secret)).toBe(true);
    const next = await admin<KeyAnswer>('POST', `/keys/${made.key.id}/rotate`, { overlap_seconds: 60 });
    expect([await works(made.secret), await works(next.secret)]).toEqual([true, true]);
    clock.nowMs += 60_000;
    expect([await works(made.secret), await works(next.secret)]).toEqual([false, true]);
    await admin('POST', `/keys/${next.key.id}/revoke`);
    expect(await works(next.secret)).toBe(false);
    const { keys } = await admin<{ keys: { id: string; revoked_at?: string }[] }>(
      'GET',
      '/accounts/account-1/keys',
    );
    expect(keys.find(({ id }) => id === next.key.id)).toHaveProperty('revoked_at');
    expect(JSON.stringify(keys)).not.toContain(made.secret);
  });

  it.each([
    [{ name: 'x', scopes: ['everything'] }, 'scopes'],
    [{ name: '' }, 'name'],
    [{}, 'name'],
    [{ name: 'x', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'x', expires_at: 'soon' }, 'expires_at'],
  ])('refuse the key %j', async (key, param) => {
    await expect(admin('POST', '/accounts/account-1/keys', key)).rejects.toThrow(`"param":"${param}"`);
  });

  it.each<[string, string, unknown, string, RegExp]>([
    ['POST', '/accounts/account-1/keys', { name: 'x', scope: ['chat'] }, 'scope', /`scopes`/],
    ['POST', '/accounts/account-1/keys', { name: 'x', scopes: [] }, 'scopes', /at least one/],
    [
      'POST',
      '/accounts/account-1/keys',
      { name: 'x', expires: '2030-01-01T00:00:00Z' },
      'expires',
      /`expires_at`/,
    ],
    ['POST', '/accounts/account-1/keys', { name: 'x', quota: null }, 'quota', /name, scopes, expires_at/],
    [
      'POST',
      '/accounts/account-1/keys',
      { name: 'x', account_id: 'other' },
      'account_id',
      /differs from the path/,
    ],
    ['POST', '/accounts/account-1/keys?scopes=chat', { name: 'x' }, 'scopes', /query parameter/],
    ['POST', '/keys/key_1/rotate', { overlap: 3600 }, 'overlap', /`overlap_seconds`/],
    ['POST', '/keys/key_1/rotate?overlap_seconds=3600', undefined, 'overlap_seconds', /no query parameters/],
    ['GET', '/usage?account=acme', undefined, 'account', /`account_id`/],
    ['GET', '/usage?account_id=account-1&account_id=acme', undefined, 'account_id', /more than once/],
    ['GET', '/accounts/account-1?page_size=5', undefined, 'page_size', /no query parameters/],
  ])('refuse %s %s with %j, and suggest the right name', async (method, path, body, param, words) => {
    const response = await parley.call(`/admin${path}`, {
      method,
      ...bearer(parley.adminKey),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 400, code: 'invalid_parameter', param });
    expect(error.message).toMatch(words);
  });

  it('count the characters of names, not their UTF-16 units', async () => {
    const longest = '🎉'.repeat(100);
    expect(await admin('POST', '/accounts', { name: longest })).toMatchObject({ name: longest });
    await expect(admin('POST', '/accounts', { name: `${longest} ` })).rejects.toThrow('"param":"name"');
    await expect(admin('GET', '/accounts?name_contains=')).rejects.toThrow('"param":"name_contains"');
  });

  it('refuse unknown query parameters of a key’s holder, too', async () => {
    const error = await errorOf(await parley.call('/usage?from=2026-11-01'));
    expect(error).toMatchObject({ status: 400, code: 'invalid_parameter', param: 'from' });
    expect((await parley.call('/models?types=speech')).status).toBe(200);
  });

  it('accept a body that repeats the path', async () => {
    const request = { name: 'twice', account_id: 'account-1' };
    expect(await admin('POST', '/accounts/account-1/keys', request)).toHaveProperty('secret');
  });

  it('refuse unknown members over Connect as JSON, too', async () => {
    const origin = new URL(parley.app.baseUrl).origin;
    const response = await fetch(`${origin}/parley.admin.v1.AdminService/CreateKey`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ account_id: 'account-1', name: 'x', scope: ['chat'] }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: 'invalid_argument' });
  });

  it('refuse an account’s key for admin calls', async () => {
    for (const path of ['/admin/accounts', '/admin/usage', '/admin/accounts/account-1/keys']) {
      const error = await errorOf(await parley.call(path));
      expect(error, path).toMatchObject({ status: 403, code: 'insufficient_scope' });
    }
    const refused = await parley.postJson('/admin/accounts', { name: 'mine' });
    expect(await errorOf(refused)).toMatchObject({ status: 403, code: 'insufficient_scope' });
    expect((await parley.call('/admin/accounts', { headers: { authorization: '' } })).status).toBe(401);
  });

  it('keep no secret key in the data folder', async () => {
    const { readdirSync, readFileSync, statSync } = await import('node:fs');
    for (const name of readdirSync(parley.dataDir)) {
      const path = `${parley.dataDir}/${name}`;
      if (!statSync(path).isFile()) continue;
      expect(statSync(path).mode & 0o077, name).toBe(0);
      expect(readFileSync(path).includes(parley.apiKey), name).toBe(false);
    }
  });
});
