/** Sessions of the console, for a client that is not a browser. */
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { afterAll, describe, expect, it } from 'vitest';
import type { OpenStore } from '../../../src/app/base.ts';
import { sessionIdleMs, sessionMsMax } from '../../../src/core/access/sessions.ts';
import type { KeyStore } from '../../../src/core/entities/key.ts';
import { endedSessionsMax } from '../../../src/core/entities/session.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { openStore as openSqliteStore } from '../../../src/store/sqlite/open-store.ts';
import { errorOf, startParley, TestClock } from '../../support/parley.ts';

const clock = new TestClock();
const parley = await startParley({ clock });
const origin = new URL(parley.baseUrl).origin;
afterAll(() => parley.close());

const ownPage = () => ({ origin, 'sec-fetch-site': 'same-origin' });

function signIn(key: string, headers: Record<string, string> = ownPage()): Promise<Response> {
  return fetch(`${origin}/console/session`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${key}` },
  });
}

/** The cookie that an answer sets, as a browser sends it back. */
function cookieOf(response: Response): string {
  const cookie = response.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error('the answer sets no cookie');
  return cookie;
}

const newSession = async (key = parley.apiKey) => cookieOf(await signIn(key));

const get = (path: string, headers: Record<string, string>) =>
  fetch(origin + path, { headers: { 'sec-fetch-site': 'same-origin', ...headers } });
const post = (path: string, headers: Record<string, string>, body: unknown = {}) =>
  fetch(origin + path, { method: 'POST', headers, body: JSON.stringify(body) });

const revoke = (secret: string) =>
  parley.app.store.keys
    .list(parley.accountId, { size: 100, after: undefined })
    .then(({ items }) => items.find(({ lastFour }) => lastFour === secret.slice(-4)))
    .then((key) => parley.admin(`/keys/${key?.id}/revoke`, {}));

const newKey = async () => {
  const response = await parley.admin('/accounts/account-1/keys', { name: 'one more' });
  return ((await response.json()) as { secret: string }).secret;
};

describe('signing in', () => {
  it('exchanges a key for a cookie that scripts and other sites cannot use', async () => {
    const response = await signIn(parley.apiKey);
    expect(response.status).toBe(200);
    expect(response.headers.get('set-cookie')).toMatch(
      /^parley_session=key_\w+\.[\w-]+; Path=\/; Max-Age=1800; HttpOnly; SameSite=Strict$/,
    );
    expect(response.headers.get('cache-control')).toBe('no-store');
    const text = await response.text();
    expect(text).not.toContain(parley.apiKey);
    expect(JSON.parse(text)).toMatchObject({
      signed_in: true,
      kind: 'account',
      account_name: 'account-1',
      key: { prefix: 'pk_', last_four: parley.apiKey.slice(-4), scopes: ['speech', 'transcription', 'chat'] },
    });
  });

  it('reports an admin key', async () => {
    expect(await (await signIn(parley.adminKey)).json()).toMatchObject({
      kind: 'admin',
      account_name: null,
      key: { prefix: 'pa_', name: 'test' },
    });
  });

  it('sends the cookie over TLS only, if the page came over TLS', async () => {
    const secure = await signIn(parley.apiKey, { ...ownPage(), origin: origin.replace('http:', 'https:') });
    expect(secure.headers.get('set-cookie')).toMatch(/^__Host-parley_session=.*; Path=\/; .*; Secure$/);
    const cookie = cookieOf(secure);
    expect((await get('/api/v1/account', { cookie })).status).toBe(200);
    const headers = { ...ownPage(), origin: origin.replace('http:', 'https:'), cookie };
    const ended = await post('/console/session/end', headers);
    expect(ended.headers.get('set-cookie')).toMatch(
      /^__Host-parley_session=; Path=\/; Max-Age=0;.*; Secure$/,
    );
    expect((await get('/api/v1/account', { cookie })).status).toBe(401);
  });

  it('leaves no usage record', async () => {
    const count = async () =>
      (await parley.app.store.usage.list({}, { size: 1000, after: undefined })).items.length;
    const before = await count();
    await get('/console/session', { cookie: await newSession() });
    expect(await count()).toBe(before);
  });

  it.each([
    ['a page of another site', { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' }],
    ['another port of this host', { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' }],
    ['a page of another site, in a browser without Sec-Fetch-Site', { origin: 'http://other.example' }],
    ['no page', {}],
  ])('is refused to %s', async (_, headers) => {
    const response = await signIn(parley.apiKey, headers as Record<string, string>);
    expect(response.headers.get('set-cookie')).toBeNull();
    expect(await errorOf(response)).toMatchObject({ status: 403, code: 'insufficient_scope' });
  });

  it('works in a browser without Sec-Fetch-Site', async () => {
    expect((await signIn(parley.apiKey, { origin })).status).toBe(200);
  });

  it('counts failures as failed keys', async () => {
    const limited = await startParley({ settings: { limits: { failedKeysPerMinuteMax: 2 } } });
    const there = new URL(limited.baseUrl).origin;
    const statuses: number[] = [];
    for (let tries = 0; tries < 3; tries++) {
      const headers = { origin: there, authorization: 'Bearer pk_wrong' };
      statuses.push((await fetch(`${there}/console/session`, { method: 'POST', headers })).status);
    }
    expect(statuses).toEqual([401, 401, 429]);
    await limited.close();
  });
});

describe('a session', () => {
  it('calls REST and Connect as the holder of its key', async () => {
    const cookie = await newSession();
    const account = await get('/api/v1/account', { cookie });
    expect(await account.json()).toMatchObject({ name: 'account-1' });
    const headers = { ...ownPage(), cookie, 'content-type': 'application/json' };
    const rpc = await post('/parley.account.v1.AccountService/GetAccount', headers);
    expect(await rpc.json()).toMatchObject({ account: { name: 'account-1' } });
    expect((await parley.recordOf(account)).wire).toBe('rest');
  });

  it('administers with the session of an admin key only', async () => {
    expect((await get('/api/v1/admin/accounts', { cookie: await newSession(parley.adminKey) })).status).toBe(
      200,
    );
    expect((await get('/api/v1/admin/accounts', { cookie: await newSession() })).status).toBe(403);
  });

  it('does not count in requests from pages of other hosts', async () => {
    const cookie = await newSession();
    const json = { 'content-type': 'application/json' };
    const foreign = { ...json, cookie, origin: 'https://other.example' };
    expect((await post('/parley.account.v1.AccountService/GetAccount', foreign)).status).toBe(401);
    expect((await get('/api/v1/account', { cookie, 'sec-fetch-site': 'same-site' })).status).toBe(401);
    expect((await post('/api/v1/chat/completions', { cookie })).status).toBe(401);
    expect((await post('/console/session/end', foreign)).status).toBe(403);
  });

  it('yields to a key in the request', async () => {
    const headers = { cookie: await newSession(), authorization: 'Bearer pk_wrong' };
    expect((await get('/api/v1/account', headers)).status).toBe(401);
  });

  it('does not sign in again without the key', async () => {
    const cookie = await newSession();
    const again = await post('/console/session', { ...ownPage(), cookie });
    expect(await errorOf(again)).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(again.headers.get('set-cookie')).toBeNull();
  });

  it('is not renewed in an answer that a cache may keep', async () => {
    const cookie = await newSession();
    clock.nowMs += 6 * 60_000;
    const page = await get('/console/chart.js', { cookie });
    expect(page.headers.get('set-cookie')).toBeNull();
    const account = await get('/api/v1/account', { cookie });
    expect(account.headers.get('set-cookie')).toContain('parley_session=');
    expect(account.headers.get('cache-control')).toBe('private, no-store');
  });

  it('ends with its key', async () => {
    const key = await newKey();
    const cookie = await newSession(key);
    expect((await get('/api/v1/account', { cookie })).status).toBe(200);
    expect((await revoke(key)).status).toBe(200);
    expect((await get('/api/v1/account', { cookie })).status).toBe(401);
    expect(await (await get('/console/session', { cookie })).json()).toEqual({ signed_in: false });
  });

  it.each(['/console/session', '/console/s%65ssion'])('begins no other one at %s', async (path) => {
    const headers = { ...ownPage(), cookie: await newSession() };
    expect((await post(path, headers)).status).toBe(401);
  });

  it('ends when it is not used, is renewed while it is, and ends after half a day in any case', async () => {
    const begunMs = clock.nowMs;
    const unused = await newSession();
    let cookie = unused;
    for (let renewals = 0; clock.nowMs - begunMs + sessionIdleMs / 2 < sessionMsMax; renewals++) {
      clock.nowMs += sessionIdleMs / 2;
      const response = await get('/api/v1/account', { cookie });
      expect(response.status).toBe(200);
      if (response.headers.has('set-cookie')) cookie = cookieOf(response);
      expect(renewals).toBeLessThan(100);
    }
    expect((await get('/api/v1/account', { cookie: unused })).status).toBe(401);
    clock.nowMs = begunMs + sessionMsMax - 1;
    expect((await get('/api/v1/account', { cookie })).status).toBe(200);
    clock.nowMs = begunMs + sessionMsMax;
    expect((await get('/api/v1/account', { cookie })).status).toBe(401);
    expect(await (await get('/console/session', { cookie })).json()).toEqual({ signed_in: false });
  });

  it('is invalid after any change of the cookie', async () => {
    const [name = '', token = ''] = (await newSession()).split('=');
    const [id = '', sealed = ''] = token.split('.');
    const other = (await newSession(await newKey())).split('.')[0]?.split('=')[1];
    const changed = `${sealed.slice(0, 20)}${sealed[20] === 'A' ? 'B' : 'A'}${sealed.slice(21)}`;
    const forged = [
      `${id}.${changed}`,
      `${other}.${sealed}`,
      `${id}.`,
      id,
      '.',
      `${id}.AAAA`,
      'x'.repeat(5_000),
    ];
    for (const value of forged)
      expect((await get('/api/v1/account', { cookie: `${name}=${value}` })).status).toBe(401);
    expect((await get('/api/v1/account', { cookie: `other=1; ${name}=${token}` })).status).toBe(200);
  });

  it('is not hidden by other cookies of its name', async () => {
    const cookie = await newSession();
    const bad = [
      'parley_session=',
      'parley_session=none',
      `${cookie.slice(0, -3)}AAA`,
      '__Host-parley_session=x.y',
    ];
    const headers = { cookie: [...bad, cookie].join('; ') };
    expect((await get('/api/v1/account', headers)).status).toBe(200);
    await post('/console/session/end', { ...ownPage(), ...headers });
    expect((await get('/api/v1/account', headers)).status).toBe(401);
  });

  it('is one of a thousand of its key that can be ended early', async () => {
    const secret = await newKey();
    const { store } = parley.app;
    const [id = ''] = cookieOf(await signIn(secret))
      .replace('parley_session=', '')
      .split('.');
    const untilMs = clock.nowMs + 60_000;
    for (let count = 0; count < endedSessionsMax; count++) {
      expect(await store.sessions.end({ owner: id, session: `${count}`, untilMs }, clock.nowMs)).toBe(true);
    }
    const cookie = await newSession(secret);
    const refused = await post('/console/session/end', { ...ownPage(), cookie });
    expect(await errorOf(refused)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect((await get('/api/v1/account', { cookie })).status).toBe(200);
    clock.nowMs += 60_000;
    expect((await post('/console/session/end', { ...ownPage(), cookie })).status).toBe(200);
    expect((await get('/api/v1/account', { cookie })).status).toBe(401);
  });

  it('ends when its holder signs out, with every copy of its cookie; other sessions stay', async () => {
    const [cookie, other] = [await newSession(), await newSession()];
    clock.nowMs += 10 * 60_000;
    const renewed = cookieOf(await get('/api/v1/account', { cookie }));
    const response = await post('/console/session/end', { ...ownPage(), cookie });
    for (const copy of [cookie, renewed]) {
      expect((await get('/api/v1/account', { cookie: copy })).status).toBe(401);
      expect(await (await get('/console/session', { cookie: copy })).json()).toEqual({ signed_in: false });
    }
    expect((await get('/api/v1/account', { cookie: other })).status).toBe(200);
    clock.nowMs -= 10 * 60_000;
    expect(response.headers.get('set-cookie')).toMatch(/^parley_session=; Path=\/; Max-Age=0;/);
    expect(await response.json()).toEqual({ signed_in: false });
  });
});

describe('a database that cannot be read', () => {
  it('does not end a session', async () => {
    let isAway = false;
    const openStore: OpenStore = async (...args) => {
      const store = await openSqliteStore(...args);
      const findById: KeyStore['findById'] = (id) =>
        isAway ? Promise.reject(new ParleyError('overloaded')) : store.keys.findById(id);
      return { ...store, keys: { ...store.keys, findById } };
    };
    const server = await startParley({ openStore });
    const there = new URL(server.baseUrl).origin;
    const headers = { origin: there, authorization: `Bearer ${server.apiKey}` };
    const cookie = cookieOf(await fetch(`${there}/console/session`, { method: 'POST', headers }));
    isAway = true;
    const refused = await fetch(`${there}/api/v1/account`, { headers: { cookie } });
    expect(await errorOf(refused)).toMatchObject({ status: 503, code: 'overloaded' });
    isAway = false;
    expect((await fetch(`${there}/api/v1/account`, { headers: { cookie } })).status).toBe(200);
    await server.close();
  });
});

describe('over HTTP/2', () => {
  it('signs in, and calls with the cookie', async () => {
    const session = connect(origin);
    const ask = (path: string, headers: Record<string, string>) =>
      new Promise<IncomingHttpHeaders>((resolve, reject) => {
        const stream = session.request({ ':path': path, ...headers });
        stream.once('response', resolve).once('error', reject).resume();
        stream.end();
      });
    const signedIn = await ask('/console/session', {
      ':method': 'POST',
      // Without TLS Chromium sends Sec-Fetch-Site only for this machine.
      origin,
      authorization: `Bearer ${parley.apiKey}`,
    });
    const cookie = String(signedIn['set-cookie']).split(';')[0] ?? '';
    expect((await ask('/api/v1/account', { cookie }))[':status']).toBe(200);
    const foreign = { ':method': 'POST', cookie, origin: 'http://other.example' };
    expect((await ask('/console/session/end', foreign))[':status']).toBe(403);
    session.destroy();
  });
});

describe('a port for administration', () => {
  it('has separate sessions, for admin keys', async () => {
    const two = await startParley({ settings: { admin: { port: 0 } } });
    const main = new URL(two.app.baseUrl).origin;
    const admin = new URL(two.app.adminBaseUrl).origin;
    const at = (where: string, key: string) =>
      fetch(`${where}/console/session`, {
        method: 'POST',
        headers: { origin: where, authorization: `Bearer ${key}` },
      });
    expect((await at(admin, two.adminKey)).headers.get('set-cookie')).toMatch(/^parley_admin_session=/);
    expect((await at(main, two.apiKey)).headers.get('set-cookie')).toMatch(/^parley_session=/);
    for (const refused of [await at(main, two.adminKey), await at(admin, two.apiKey)])
      expect(await errorOf(refused)).toMatchObject({ status: 403, code: 'insufficient_scope' });
    await two.close();
  });
});

describe('console.access: off', () => {
  it('serves neither sessions nor their cookies', async () => {
    const cookie = await newSession();
    const closed = await startParley({ settings: { console: { access: 'off' } } });
    const there = new URL(closed.baseUrl).origin;
    const headers = { origin: there, authorization: `Bearer ${closed.apiKey}` };
    expect((await fetch(`${there}/console/session`, { method: 'POST', headers })).status).toBe(404);
    expect((await fetch(`${there}/api/v1/account`, { headers: { cookie } })).status).toBe(401);
    await closed.close();
  });
});
