/** Addresses of mail are confirmed by a code before they get alerts, through a running server and a real mail server. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AlertedParley, mailBy, startAlerted } from '../../support/alerted-parley.ts';
import { codeIn, type MailServer, startMailServer } from '../../support/mail-server.ts';
import { bearer, errorOf } from '../../support/parley.ts';

interface State {
  readonly settings?: { readonly mail_addresses?: string[] };
  readonly waiting_addresses?: {
    readonly address: string;
    readonly sent_at?: string;
    readonly expires_at?: string;
    readonly last_failure?: string;
  }[];
}

const dayMs = 86_400_000;
let parley: AlertedParley;
let mails: MailServer;

beforeEach(async () => {
  mails = await startMailServer();
  parley = await startAlerted(mailBy(mails, { holdersMaySet: true }));
});
afterEach(async () => {
  await parley.close();
  await mails.close();
});

const post = (path: string, body: object) => parley.manage(path, body);
const set = async (...mail_addresses: string[]) =>
  (await (await post('settings', { settings: { percents: [50], mail_addresses } })).json()) as State;
const state = () => parley.alertState<State>();
const confirm = (code: string) => post('addresses/confirm', { code });
const sendAgain = (address: string) => post('addresses/code', { address });
const invalidCode = { status: 400, code: 'invalid_parameter', param: 'code' };

const delivery = async () => (await parley.alertList())[0]?.delivery ?? {};
const raise = () => parley.useHalf();

it('get a code, and no alert before it is entered', async () => {
  expect(await set('ops@example.com')).toMatchObject({
    settings: { mail_addresses: ['ops@example.com'] },
    waiting_addresses: [
      { address: 'ops@example.com', sent_at: '2026-11-28T12:00:00Z', expires_at: '2026-11-29T12:00:00Z' },
    ],
  });
  const [mail] = mails.received;
  expect(mail?.to).toEqual(['ops@example.com']);
  await raise();
  await expect.poll(delivery).toMatchObject({ last_failure: 'No address is confirmed yet.' });
  expect(mails.received).toHaveLength(1);
  const code = codeIn(mail);
  const answer = await confirm(` ${code.toLowerCase().replaceAll('-', ' ')} `);
  expect(await answer.json()).toEqual({ address: 'ops@example.com' });
  // The alert that waited is sent at once.
  await expect.poll(delivery).toMatchObject({ state: 'delivered' });
  expect(mails.received[1]?.to).toEqual(['ops@example.com']);
  expect(await state()).toEqual({ settings: { percents: [50], mail_addresses: ['ops@example.com'] } });
});

it('are confirmed by their latest code only, once and for a day', async () => {
  await set('ops@example.com');
  expect(await errorOf(await sendAgain('ops@example.com'))).toMatchObject({
    status: 429,
    code: 'rate_limit_exceeded',
  });
  parley.clock.nowMs += 60_000;
  expect(await (await sendAgain('ops@example.com')).json()).toMatchObject({
    address: 'ops@example.com',
    sent_at: '2026-11-28T12:01:00Z',
  });
  const [first = '', second = ''] = mails.received.map((mail) => codeIn(mail));
  expect(second).not.toBe(first);
  expect(await errorOf(await confirm(first))).toMatchObject(invalidCode);
  parley.clock.nowMs += dayMs;
  expect(await errorOf(await confirm(second))).toMatchObject(invalidCode);
  await sendAgain('ops@example.com');
  const third = codeIn(mails.received[2]);
  expect((await confirm(third)).status).toBe(200);
  expect(await errorOf(await confirm(third))).toMatchObject(invalidCode);
  expect(await errorOf(await confirm(''))).toMatchObject(invalidCode);
  expect(await errorOf(await sendAgain('ops@example.com'))).toMatchObject({ status: 400, param: 'address' });
});

it('that are confirmed stay so, and those that are removed need a new code', async () => {
  await set('ops@example.com', 'desk@example.com');
  const codes = new Map(mails.received.map((mail) => [mail.to[0], codeIn(mail)]));
  await confirm(codes.get('ops@example.com') ?? '');
  // Setting them again sends no mail to either.
  expect((await set('ops@example.com', 'desk@example.com')).waiting_addresses).toMatchObject([
    { address: 'desk@example.com' },
  ]);
  expect(mails.received).toHaveLength(2);
  await confirm(codes.get('desk@example.com') ?? '');
  expect((await post('test', {})).status).toBe(200);
  expect(mails.received[2]?.to).toEqual(['ops@example.com', 'desk@example.com']);
  await set('ops@example.com');
  expect((await set('ops@example.com', 'desk@example.com')).waiting_addresses).toHaveLength(1);
  expect(await errorOf(await confirm(codes.get('desk@example.com') ?? ''))).toMatchObject(invalidCode);
});

it('belong to the account whose code it is', async () => {
  await set('ops@example.com');
  const other = await parley.admin('/accounts', { name: 'other' });
  expect(other.status).toBe(200);
  const code = codeIn(mails.received[0]);
  const path = (account: string) => `/admin/accounts/${account}/alerts/addresses/confirm`;
  const byAdmin = (account: string) => parley.postJson(path(account), { code }, bearer(parley.adminKey));
  expect(await errorOf(await byAdmin('other'))).toMatchObject(invalidCode);
  expect((await byAdmin(parley.accountId)).status).toBe(200);
  const audit = await (await parley.admin('/audit')).text();
  expect(audit).toContain('alerts.confirm');
  expect(audit).not.toContain('ops@example.com');
});

it('say why no code was sent, and get one as soon as it can be sent', async () => {
  mails.refusedAddresses.set('ops@example.com', 550);
  expect((await set('ops@example.com')).waiting_addresses).toEqual([
    { address: 'ops@example.com', last_failure: 'The mail server refused the address with the code 550.' },
  ]);
  mails.refusedAddresses.clear();
  expect((await sendAgain('ops@example.com')).status).toBe(200);
  expect(mails.received).toHaveLength(1);
});

it('are not undone by settings that were decided before', async () => {
  await set('ops@example.com');
  const { alerts } = parley.app.store;
  const { setSettings } = alerts;
  // The code is entered between the reads and the write.
  vi.spyOn(alerts, 'setSettings').mockImplementationOnce(async (...all) => {
    expect((await confirm(codeIn(mails.received[0]))).status).toBe(200);
    return setSettings(...all);
  });
  expect(await set('ops@example.com', 'desk@example.com')).toMatchObject({
    settings: { mail_addresses: ['ops@example.com', 'desk@example.com'] },
    waiting_addresses: [{ address: 'desk@example.com' }],
  });
  expect(mails.received.map(({ to }) => to[0])).toEqual(['ops@example.com', 'desk@example.com']);
});

it('get one code a minute, also if they are removed meanwhile', async () => {
  const recent = 'A code was sent to this address within the last minute. Wait, then try again.';
  await set('ops@example.com');
  await set('desk@example.com');
  expect((await set('ops@example.com')).waiting_addresses).toEqual([
    { address: 'ops@example.com', last_failure: recent },
  ]);
  parley.clock.nowMs += 59_000;
  const early = await sendAgain('ops@example.com');
  expect(early.headers.get('retry-after')).toBe('1');
  expect(await errorOf(early)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  expect(mails.received).toHaveLength(2);
  parley.clock.nowMs += 1_000;
  expect((await sendAgain('ops@example.com')).status).toBe(200);
  expect((await confirm(codeIn(mails.received[2]))).status).toBe(200);
});

it('get five codes a day from all accounts, and keep the last one', async () => {
  const byAdmin = async (mail_addresses: string[]) => {
    const { id } = (await (await parley.admin('/accounts', { name: mail_addresses[0] })).json()) as {
      id: string;
    };
    const body = { settings: { percents: [50], mail_addresses } };
    const path = `/admin/accounts/${id}/alerts/settings`;
    return (await (await parley.postJson(path, body, bearer(parley.adminKey))).json()) as State;
  };
  await byAdmin(['OPS@example.com']);
  parley.clock.nowMs += 60_000;
  await set('ops@example.com');
  for (let sent = 2; sent < 5; sent++) {
    parley.clock.nowMs += 60_000;
    expect((await sendAgain('ops@example.com')).status).toBe(200);
  }
  parley.clock.nowMs += 60_000;
  const last_failure = 'The address has had 5 codes within a day.';
  expect(await errorOf(await sendAgain('ops@example.com'))).toMatchObject({
    status: 429,
    message: last_failure,
  });
  expect((await byAdmin(['ops@Example.com'])).waiting_addresses).toMatchObject([{ last_failure }]);
  expect(mails.received).toHaveLength(5);
  expect((await confirm(codeIn(mails.received[4]))).status).toBe(200);
  parley.clock.nowMs += dayMs;
  expect((await byAdmin(['Ops@example.com'])).waiting_addresses).toMatchObject([
    { sent_at: expect.any(String) },
  ]);
});

it('keep a valid code if no other can be sent', async () => {
  await set('ops@example.com');
  const { sent_at, expires_at } = (await state()).waiting_addresses?.[0] ?? {};
  parley.clock.nowMs += 60_000;
  mails.refusedAddresses.set('ops@example.com', 450);
  expect(await (await sendAgain('ops@example.com')).json()).toEqual({
    address: 'ops@example.com',
    sent_at,
    expires_at,
    last_failure: 'The mail server refused the address with the code 450.',
  });
  expect((await confirm(codeIn(mails.received[0]))).status).toBe(200);
});

it('are confirmed by a code whose mail was taken without an answer', async () => {
  mails.holds = true;
  const answer = set('ops@example.com');
  await expect.poll(() => mails.received).toHaveLength(1);
  mails.breakConnections();
  expect((await answer).waiting_addresses).toMatchObject([
    {
      sent_at: '2026-11-28T12:00:00Z',
      last_failure: 'The mail server could not be reached, or broke the connection.',
    },
  ]);
  expect((await sendAgain('ops@example.com')).status).toBe(429);
  expect((await confirm(codeIn(mails.received[0]))).status).toBe(200);
});

it('keep a later code when an earlier one fails late', async () => {
  const { alerts } = parley.app.store;
  const { accountId } = parley;
  await set('ops@example.com');
  const late = {
    address: 'ops@example.com',
    codeHash: undefined,
    sentAtMs: undefined,
    expiresAtMs: undefined,
  };
  expect(await alerts.setCode(accountId, 'of an earlier code', { ...late, lastFailure: 'late' })).toBe(false);
  expect(await alerts.setCode(accountId, undefined, { ...late, lastFailure: 'late' })).toBe(false);
  expect((await confirm(codeIn(mails.received[0]))).status).toBe(200);
});

it('of an account get 20 codes a day', async () => {
  for (let at = 0; at < 4; at++)
    await set(...Array.from({ length: 5 }, (_, index) => `a${at}-${index}@example.com`));
  expect(mails.received).toHaveLength(20);
  expect((await set('ops@example.com')).waiting_addresses).toMatchObject([
    { last_failure: 'The account has had 20 codes within a day.' },
  ]);
  expect(mails.received).toHaveLength(20);
});

it('are not told by the database, which has no code', async () => {
  await set('ops@example.com');
  const code = codeIn(mails.received[0]).replaceAll('-', '');
  const { store } = parley.app;
  const settings = await store.alerts.settings(parley.accountId);
  expect(settings).toMatchObject({ destination: { kind: 'mail', addresses: [] } });
  expect(settings?.waiting).toMatchObject([{ address: 'ops@example.com', codeHash: expect.any(String) }]);
  expect(settings?.waiting[0]?.codeHash).not.toContain(code);
});
