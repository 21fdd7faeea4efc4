import { afterAll, describe, expect, it } from 'vitest';
import { bearer, errorOf, startParley, TestClock } from '../../support/parley.ts';

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
