/** Invitations: who may make them, and what their link is exchanged for. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type MailServer, startMailServer } from '../../support/mail-server.ts';
import { bearer, errorOf, type Parley, startParley, TestClock } from '../../support/parley.ts';

const dayMs = 86_400_000;
const clock = new TestClock();
const lines: string[] = [];
const note = (facts: unknown, text?: string) => lines.push(`${JSON.stringify(facts)} ${text}`);
let mails: MailServer;
let parley: Parley;
let origin: string;

beforeAll(async () => {
  mails = await startMailServer();
  const smtp = { host: '127.0.0.1', port: mails.port, tls: 'none', from: 'parley@example.com' };
  const settings = { alerts: { smtp }, limits: { keysPerAccountMax: 5, failedKeysPerMinuteMax: 8 } };
  parley = await startParley({ clock, settings, log: { info: note, warn: note, error: note } });
  origin = new URL(parley.baseUrl).origin;
});
afterAll(() => Promise.all([parley.close(), mails.close()]));

interface Invited {
  readonly key: { readonly id: string; readonly scopes: string[]; readonly expires_at: string };
  readonly url: string;
  readonly mail_failure?: string;
}

const consoleUrl = 'https://parley.example.com/somewhere';
const ask = (body: object, key = parley.adminKey) =>
  parley.call('/admin/invitations', {
    method: 'POST',
    body: JSON.stringify({ name: 'Ada', console_url: consoleUrl, ...body }),
    ...bearer(key),
  });
const invite = async (body: object = { account_id: 'account-1' }) =>
  (await (await ask(body)).json()) as Invited;
const secretOf = ({ url }: Invited) => url.replace(/^.*#/, '');

function accept(secret: string, headers: object = { origin, 'sec-fetch-site': 'same-origin' }) {
  return fetch(`${origin}/console/session/accept`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${secret}` },
  });
}

async function adminKey(scopes: string[], expires?: string): Promise<string> {
  const facts = { name: 'desk', scopes, ...(expires && { expires_at: expires }) };
  return ((await (await parley.admin('/keys', facts)).json()) as { secret: string }).secret;
}

describe('an invitation', () => {
  it('makes the key of a holder once, and opens a session', async () => {
    const made = await invite({ account_id: 'account-1', scopes: ['chat', 'manage'] });
    expect(made).toMatchObject({
      key: { name: 'Ada', prefix: 'pi_', invitation: true, scopes: ['chat', 'manage'] },
      url: expect.stringMatching(/^https:\/\/parley\.example\.com\/console\/invitation#pi_[0-9a-z]{57}$/),
    });
    expect(Date.parse(made.key.expires_at)).toBe(clock.nowMs + 7 * dayMs);
    // It is no key.
    const asKey = await parley.call('/models', bearer(secretOf(made)));
    expect(asKey.status).toBe(401);
    expect((await errorOf(asKey)).message).toContain('is an invitation');
    const [first, second] = await Promise.all([accept(secretOf(made)), accept(secretOf(made))]);
    const [won, lost] = first.status === 200 ? [first, second] : [second, first];
    expect(lost.status).toBe(401);
    expect((await errorOf(lost)).message).toContain('was used');
    expect(won.headers.get('cache-control')).toBe('no-store');
    const session = (await won.json()) as { secret: string };
    expect(session).toMatchObject({
      signed_in: true,
      kind: 'account',
      account_name: 'account-1',
      key: { name: 'Ada', prefix: 'pk_', scopes: ['chat', 'manage'], expires_at: null },
    });
    const cookie = String(won.headers.get('set-cookie')?.split(';')[0]);
    const shown = await fetch(`${origin}/console/session`, {
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    });
    expect(await shown.json()).toMatchObject({ signed_in: true, key: { name: 'Ada' } });
    expect((await parley.call('/models', bearer(session.secret))).status).toBe(200);
    const list = await parley.call('/admin/accounts/account-1/keys', bearer(parley.adminKey));
    const { keys } = (await list.json()) as { keys: { id: string; revoked_at?: string }[] };
    expect(keys.find(({ id }) => id === made.key.id)?.revoked_at).toBeDefined();
    const trail = await parley.call('/admin/audit?page_size=100', bearer(parley.adminKey));
    const { entries } = (await trail.json()) as {
      entries: { action: string; target: string; actor: string }[];
    };
    const own = entries.filter(({ target }) => target === made.key.id);
    expect(own.map(({ action }) => action).sort()).toEqual(['invitation.accept', 'invitation.create']);
    expect(own.map(({ actor }) => actor)).toContain(made.key.id);
    // Neither secret is in the log.
    for (const secret of [secretOf(made), session.secret]) expect(lines.join('')).not.toContain(secret);
  });

  it('grants the scopes of its kind of key alone, and those of a new key by default', async () => {
    for (const scopes of [['accounts:read'], ['invitation'], ['chat', 'nothing']]) {
      const refused = await ask({ account_id: 'account-1', scopes });
      expect([refused.status, (await errorOf(refused)).param]).toEqual([400, 'scopes']);
    }
    for (const scopes of [['chat'], ['invitation']]) expect((await ask({ scopes })).status).toBe(400);
    const { key } = await invite();
    expect(key.scopes).toEqual(['speech', 'transcription', 'chat']);
    await parley.admin(`/keys/${key.id}/revoke`, {});
  });

  it('makes the admin key of an operator, with no more than its maker has', async () => {
    const made = await invite({ scopes: ['accounts:read', 'usage:read'] });
    const session = (await (await accept(secretOf(made))).json()) as { secret: string };
    expect(session).toMatchObject({ kind: 'admin', key: { prefix: 'pa_' } });
    const read = await parley.call('/admin/accounts', bearer(session.secret));
    expect(read.status).toBe(200);
    expect((await parley.call('/admin/keys', bearer(session.secret))).status).toBe(403);
    const all = (await (await accept(secretOf(await invite({})))).json()) as { secret: string };
    expect((await parley.call('/admin/keys', bearer(all.secret))).status).toBe(200);
    const narrow = await adminKey(['keys', 'accounts:read']);
    expect((await ask({ scopes: ['server'] }, narrow)).status).toBe(403);
    const wide = await invite({});
    // It cannot end an invitation to more than it may do itself either.
    const revoked = await parley.call(`/admin/keys/${wide.key.id}/revoke`, {
      method: 'POST',
      body: '{}',
      ...bearer(narrow),
    });
    expect(revoked.status).toBe(403);
    expect((await ask({ scopes: ['accounts:read'] }, narrow)).status).toBe(200);
    const ending = await adminKey(['keys'], new Date(clock.nowMs + dayMs).toISOString());
    expect((await ask({ scopes: ['keys'] }, ending)).status).toBe(403);
    expect((await ask({}, await adminKey(['accounts:read']))).status).toBe(403);
    expect((await ask({}, parley.apiKey)).status).toBe(403);
  });

  it('ends by itself, with its account, and when it is revoked', async () => {
    const late = await invite();
    clock.nowMs += 7 * dayMs;
    expect((await accept(secretOf(late))).status).toBe(401);
    const soon = await invite({
      account_id: 'account-1',
      expires_at: new Date(clock.nowMs + 60_000).toISOString(),
    });
    clock.nowMs += 60_001;
    expect((await accept(secretOf(soon))).status).toBe(401);
    const far = new Date(clock.nowMs + 31 * dayMs).toISOString();
    expect((await ask({ account_id: 'account-1', expires_at: far })).status).toBe(400);
    const revoked = await invite();
    expect((await parley.admin(`/keys/${revoked.key.id}/rotate`, {})).status).toBe(400);
    await parley.admin(`/keys/${revoked.key.id}/revoke`, {});
    expect((await accept(secretOf(revoked))).status).toBe(401);
    await parley.admin('/accounts', { name: 'brief' });
    const [held, gone] = [await invite({ account_id: 'brief' }), await invite({ account_id: 'brief' })];
    await parley.admin('/accounts/brief/suspend', {});
    expect((await accept(secretOf(held))).status).toBe(403);
    await parley.admin('/accounts/brief/resume', {});
    expect((await accept(secretOf(held))).status).toBe(200);
    await parley.admin('/accounts/brief/delete', {});
    expect((await accept(secretOf(gone))).status).toBe(401);
  });

  it('gives its limits to the key, and counts among the keys of an account', async () => {
    await parley.admin('/accounts', { name: 'small' });
    const made = await invite({ account_id: 'small' });
    await parley.admin(`/keys/${made.key.id}/limits`, { limits: { requests_per_minute: 7 } });
    const { secret } = (await (await accept(secretOf(made))).json()) as { secret: string };
    const own = await parley.call('/key', bearer(secret));
    expect(await own.json()).toMatchObject({ limits: { requests_per_minute: 7 } });
    for (let count = 1; count < 5; count++) expect((await ask({ account_id: 'small' })).status).toBe(200);
    expect((await ask({ account_id: 'small' })).status).toBe(400);
  });

  it('is mailed, and says why it was not', async () => {
    await parley.admin('/accounts', { name: 'mailed' });
    const made = await invite({ account_id: 'mailed', mail_address: 'ada@example.org' });
    expect(made.mail_failure).toBeUndefined();
    expect(mails.received.at(-1)).toMatchObject({ to: ['ada@example.org'] });
    expect(mails.received.at(-1)?.source.replaceAll('=\r\n', '')).toContain(made.url);
    mails.refusal = 554;
    const unsent = await invite({ account_id: 'mailed', mail_address: 'ada@example.org' });
    mails.refusal = undefined;
    expect(unsent.mail_failure).toContain('554');
    expect((await accept(secretOf(unsent))).status).toBe(200);
    expect((await ask({ account_id: 'mailed', mail_address: 'not an address' })).status).toBe(400);
    expect((await ask({ account_id: 'mailed', console_url: 'http://parley.example.com' })).status).toBe(400);
  });

  it('is accepted by pages of this server alone, and guesses are counted', async () => {
    await parley.admin('/accounts', { name: 'guessed' });
    const made = await invite({ account_id: 'guessed' });
    const elsewhere = { origin: 'https://elsewhere.example', 'sec-fetch-site': 'cross-site' };
    expect((await accept(secretOf(made), elsewhere)).status).toBe(403);
    // A key is no invitation.
    const statuses: number[] = [];
    for (let count = 0; count < 9; count++) statuses.push((await accept(parley.apiKey)).status);
    expect(statuses[0]).toBe(401);
    expect(statuses.at(-1)).toBe(429);
    expect((await accept(secretOf(made))).status).toBe(200);
  });
});
