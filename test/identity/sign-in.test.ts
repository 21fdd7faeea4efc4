/** Sign-in by OpenID Connect with a real provider, for a client that is not a browser. */
import { afterAll, describe, expect, it } from 'vitest';
import { startWithProvider, Visitor } from '../support/identity-provider.ts';
import { errorOf } from '../support/parley.ts';

const parley = await startWithProvider();
const origin = parley.origin;
afterAll(() => parley.close());

interface Answer {
  readonly key: { readonly id: string; readonly expires_at?: string };
  readonly keys: readonly { readonly id: string; readonly name: string }[];
}

async function signedIn(name: string): Promise<Visitor> {
  const visitor = new Visitor();
  expect(await visitor.signIn(origin, name)).toBe('/console');
  return visitor;
}
const json = async (visitor: Visitor, path: string, init?: RequestInit) =>
  (await visitor.ask(origin + path, init)).json() as Promise<Answer>;
const status = async (visitor: Visitor, path: string, init?: RequestInit) =>
  (await visitor.ask(origin + path, init)).status;
const post = (body: object): RequestInit => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { origin },
});
const audited = async () => (await parley.app.store.audit.list({ size: 50, after: undefined })).items;

describe('the rights of a person', () => {
  it('are those of a holder', async () => {
    const holly = await signedIn('holly');
    expect(await json(holly, '/console/session')).toMatchObject({
      signed_in: true,
      kind: 'account',
      account_name: 'account-1',
      is_person: true,
      key: { name: 'holly@example.com', scopes: ['speech', 'transcription', 'chat'] },
    });
    expect(await status(holly, '/api/v1/account')).toBe(200);
    expect(await status(holly, '/api/v1/keys', post({ name: 'x' }))).toBe(403);
    expect(await status(holly, '/api/v1/admin/accounts')).toBe(403);
  });

  it('are those of a manager, who creates keys that outlast the session', async () => {
    const { key } = await json(await signedIn('mara'), '/api/v1/keys', post({ name: 'made by mara' }));
    expect(key).toMatchObject({ name: 'made by mara' });
    expect(key.expires_at).toBeUndefined();
    expect(await audited()).toContainEqual(
      expect.objectContaining({ action: 'key.create', target: key.id, actor: 'mara@example.com (mara)' }),
    );
  });

  it('are those of an operator, whom the audit trail names', async () => {
    const otto = await signedIn('otto');
    expect(await status(otto, '/api/v1/admin/accounts', post({ name: 'by-otto' }))).toBe(200);
    const actor = 'otto@example.com (otto)';
    const entries = await audited();
    expect(entries).toContainEqual(expect.objectContaining({ action: 'account.create', actor }));
    const begun = entries.find((entry) => entry.action === 'session.begin' && entry.actor === actor);
    expect(begun?.details).toEqual({ role: 'operator', account: '' });
  });

  it('are those of an operator who changes nothing', async () => {
    const rita = await signedIn('rita');
    expect(await status(rita, '/api/v1/admin/accounts')).toBe(200);
    expect(await status(rita, '/api/v1/admin/accounts', post({ name: 'by-rita' }))).toBe(403);
    expect(await status(rita, '/api/v1/admin/keys')).toBe(403);
    for (const path of ['server', 'nodes', 'audit', 'accounts/account-1/alerts', 'usage']) {
      expect([path, await status(rita, `/api/v1/admin/${path}`)]).toEqual([path, 200]);
    }
    for (const path of ['engines/unload', 'usage/prune', 'accounts/account-1/alerts/test']) {
      expect([path, await status(rita, `/api/v1/admin/${path}`, post({}))]).toEqual([path, 403]);
    }
  });

  it('come from a verified address', async () => {
    expect(await new Visitor().signIn(origin, 'boss')).toBe('/console');
    expect(await new Visitor().signIn(origin, 'unverified')).toBe('/console?sign_in=refused');
  });
});

describe('a person without a rule, or without an account', () => {
  it.each(['nobody', 'lost'])('is refused: %s', async (name) => {
    const visitor = new Visitor();
    expect(await visitor.signIn(origin, name)).toBe('/console?sign_in=refused');
    expect(visitor.cookies(origin)).not.toContain('parley_session');
    expect(await json(visitor, '/console/session')).toEqual({ signed_in: false, provider: 'Test Login' });
  });
});

describe('the session of a person', () => {
  it('ends everywhere when they sign out', async () => {
    const otto = await signedIn('otto');
    const cookie = otto.cookies(origin);
    expect(await json(otto, '/console/session/end', post({}))).toEqual({
      signed_in: false,
      provider: 'Test Login',
    });
    expect(await status(new Visitor(), '/api/v1/admin/accounts', { headers: { cookie } })).toBe(401);
  });

  it('ends when the provider says so, and no other', async () => {
    const [otto, other] = [await signedIn('otto'), await signedIn('rita')];
    const issuer = new URL(await new Visitor().follow(`${origin}/console/oidc/sign-in`, /\/auth\?/)).origin;
    const page = await (await otto.ask(`${issuer}/session/end`)).text();
    const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(page) ?? [];
    await otto.ask(`${issuer}/session/end/confirm`, {
      method: 'POST',
      body: new URLSearchParams({ xsrf, logout: 'yes' }),
    });
    await expect.poll(() => status(otto, '/api/v1/admin/accounts'), { timeout: 20_000 }).toBe(401);
    expect(await status(other, '/api/v1/admin/accounts')).toBe(200);
    expect(await audited()).toContainEqual(expect.objectContaining({ action: 'session.end', actor: 'oidc' }));
  });

  it('ends when an operator revokes its key', async () => {
    const otto = await signedIn('otto');
    const { key } = await json(otto, '/console/session');
    expect((await parley.admin(`/keys/${key.id}/revoke`, {})).status).toBe(200);
    expect(await json(otto, '/console/session')).toMatchObject({ signed_in: false });
  });

  it('has a key that is in no list and cannot be rotated', async () => {
    const otto = await signedIn('otto');
    const { key } = await json(otto, '/console/session');
    const { keys } = await json(otto, '/api/v1/admin/keys');
    expect(keys.map(({ name }) => name)).toEqual(['test']);
    const rotated = await otto.ask(`${origin}/api/v1/admin/keys/${key.id}/rotate`, post({}));
    expect(await errorOf(rotated)).toMatchObject({ status: 400, code: 'invalid_parameter' });
  });

  it('cannot be begun twice by one sign-in', async () => {
    const visitor = new Visitor();
    const callback = await visitor.callbackOf(origin, 'otto');
    expect((await visitor.ask(callback)).headers.get('location')).toBe('/console');
    expect((await visitor.ask(callback)).headers.get('location')).toBe('/console?sign_in=failed');
  });

  it('is not begun by the callback of another browser', async () => {
    const callback = await new Visitor().callbackOf(origin, 'otto');
    const victim = new Visitor();
    expect((await victim.ask(callback)).headers.get('location')).toBe('/console?sign_in=failed');
    await victim.follow(`${origin}/console/oidc/sign-in`, /\/auth\?/);
    expect((await victim.ask(callback)).headers.get('location')).toBe('/console?sign_in=failed');
    expect(victim.cookies(origin)).not.toContain('parley_session');
  });
});

it('does not lead to an address that is not configured', async () => {
  const response = await new Visitor().ask(
    `${origin.replace('127.0.0.1', 'localhost')}/console/oidc/sign-in`,
  );
  expect(response.headers.get('location')).toBe('/console?sign_in=failed');
});

it('leaves sign-in by key as it is', async () => {
  const headers = { authorization: `Bearer ${parley.adminKey}`, origin };
  expect(await json(new Visitor(), '/console/session', { method: 'POST', headers })).toMatchObject({
    kind: 'admin',
    is_person: false,
  });
});

it('does not replace the admin key of the server', async () => {
  const otto = await signedIn('otto');
  const { keys } = await json(otto, '/api/v1/admin/keys');
  for (const one of keys) await parley.admin(`/keys/${one.id}/revoke`, {});
  expect(await parley.app.store.keys.hasAdmin(Date.now())).toBe(false);
  expect(await status(otto, '/api/v1/admin/accounts')).toBe(200);
});
