/** Alerts of a running server, by mail, to Slack and to Matrix. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AlertedParley, type AlertJson, mailBy, startAlerted } from '../../support/alerted-parley.ts';
import { codeIn, type MailServer, startMailServer } from '../../support/mail-server.ts';
import { bearer, errorOf } from '../../support/parley.ts';
import { startReceiver, toReceivers, type WebhookReceiver } from '../../support/webhook-receiver.ts';

let parley: AlertedParley;
let receiver: WebhookReceiver;
let mails: MailServer;

beforeEach(async () => {
  receiver = await startReceiver();
  mails = await startMailServer();
});
afterEach(async () => {
  await parley.close();
  await receiver.close();
  await mails.close();
});

async function start(alerts: object = {}): Promise<void> {
  parley = await startAlerted({ ...toReceivers, ...alerts });
}

const smtp = (more: object = {}) => mailBy(mails, more);
const set = (settings: object) => parley.manage('settings', { settings });
const setByOperator = (settings: object) => parley.administer('alerts/settings', { settings });
/** Confirms the addresses of all mails so far, and forgets these. */
async function confirmAll(): Promise<void> {
  for (const mail of mails.received.splice(0))
    expect((await parley.manage('addresses/confirm', { code: codeIn(mail) })).status).toBe(200);
}
const refusal = async (answer: Promise<Response>) => errorOf(await answer);

const settings = async () => (await parley.alertState<{ settings?: unknown }>()).settings;
const list = () => parley.alertList();
const raise = () => parley.useHalf();
const test = async () => (await (await parley.manage('test', {})).json()) as AlertJson;
const half = { percents: [50] };
const words = '50% of the budget for the month of the account is used: 1 of 2';
const advice =
  'Requests beyond the budget are refused. Raise the budget to continue. It starts again at 0 on 2026-12-01 00:00 UTC.';

it('have one destination', async () => {
  await start();
  const two = { webhook_url: `${receiver.origin}/a`, slack_url: `${receiver.origin}/b` };
  expect(await refusal(set(two))).toMatchObject({
    status: 400,
    code: 'invalid_parameter',
    param: 'settings',
  });
});

describe('Slack', () => {
  const url = () => `${receiver.origin}/services/T0/B0/secret`;

  it('gets each alert as a text and a block', async () => {
    await start();
    expect(await (await set({ ...half, slack_url: url() })).json()).toEqual({
      settings: { ...half, slack_url: url() },
    });
    expect(await settings()).toEqual({ ...half, slack_url: url() });
    await raise();
    await expect.poll(list).toMatchObject([{ delivery: { state: 'delivered', attempts: 1 } }]);
    const text = `account-1: ${words}.`;
    const block = { type: 'section', text: { type: 'mrkdwn', text: `*${text}*\n${advice}` } };
    expect(receiver.received).toMatchObject([
      { method: 'POST', path: '/services/T0/B0/secret', alert: { text, blocks: [block] } },
    ]);
  });

  it('is not tried again after it refused an alert for good, and waits as long as it asks', async () => {
    await start();
    await set({ ...half, slack_url: url() });
    receiver.status = 404;
    receiver.answer = 'channel_not_found';
    await raise();
    await expect
      .poll(list)
      .toMatchObject([
        {
          delivery: {
            state: 'failed',
            attempts: 1,
            last_failure: 'Slack answered 404. Its incoming webhook or channel is gone.',
          },
        },
      ]);
    receiver.status = 429;
    receiver.retryAfter = '90';
    // The second alert is later than the first one, and thus the first of the list.
    parley.clock.nowMs += 15_000;
    await parley.setAccountLimits({ budgets: { month: '1.5' } });
    await expect
      .poll(async () => (await list())[0])
      .toMatchObject({
        delivery: { state: 'pending', attempts: 1, next_attempt_at: '2026-11-28T12:01:45Z' },
      });
  });

  it('is turned off by 410, and its URL is a secret', async () => {
    await start();
    await setByOperator({ slack_url: url() });
    receiver.status = 410;
    expect(await test()).toMatchObject({
      delivery: { state: 'failed', last_failure: 'Slack answered 410 and is turned off.' },
    });
    expect(await refusal(parley.manage('test', {}))).toMatchObject({ status: 400 });
    const audit = await (await parley.admin('/audit')).text();
    expect(audit).toContain(`slack\\":\\"${new URL(receiver.origin).host}`);
    expect(audit).not.toContain('T0/B0');
  });

  it('shows its host alone to an admin key that only reads', async () => {
    await start();
    await setByOperator({ slack_url: url() });
    const seenWith = async (scope: string) => {
      const body = { name: scope, scopes: [scope] };
      const issued = await parley.admin('/keys', body);
      const { secret } = (await issued.json()) as { secret: string };
      const path = `/admin/accounts/${parley.accountId}/alerts/settings`;
      return (await parley.call(path, bearer(secret))).json();
    };
    expect(await seenWith('alerts')).toMatchObject({ settings: { slack_url: url() } });
    expect(await seenWith('alerts:read')).toMatchObject({ settings: { slack_url: receiver.origin } });
  });
});

describe('Matrix', () => {
  const room = () => ({ homeserver_url: receiver.origin, room_id: '!r/oom:example.com' });
  const setRoom = () => set({ ...half, matrix: { ...room(), access_token: 'syt_secret' } });

  it('gets each alert once, as the transaction has the id of the alert in each attempt', async () => {
    await start();
    receiver.status = 502;
    expect(await (await setRoom()).json()).toEqual({ settings: { ...half, matrix: room() } });
    await raise();
    await expect.poll(list).toMatchObject([{ delivery: { last_failure: 'The homeserver answered 502.' } }]);
    receiver.status = 200;
    receiver.answer = '{"event_id":"$1"}';
    parley.clock.nowMs += 15_000;
    await expect.poll(list).toMatchObject([{ delivery: { state: 'delivered', attempts: 2 } }]);
    const [alert] = await list();
    const path = `/_matrix/client/v3/rooms/!r%2Foom%3Aexample.com/send/m.room.message/${alert?.id}`;
    const body = { msgtype: 'm.text', body: `account-1: ${words}.\n${advice}` };
    const sent = { method: 'PUT', path, alert: body, headers: { authorization: 'Bearer syt_secret' } };
    expect(receiver.received).toMatchObject([sent, sent]);
  });

  it('is asked again no sooner than it says', async () => {
    await start();
    receiver.status = 429;
    receiver.answer = JSON.stringify({ errcode: 'M_LIMIT_EXCEEDED', error: 'no', retry_after_ms: 60_000 });
    await setRoom();
    await raise();
    await expect
      .poll(list)
      .toMatchObject([
        {
          delivery: {
            state: 'pending',
            last_failure: 'The homeserver answered 429.',
            next_attempt_at: '2026-11-28T12:01:00Z',
          },
        },
      ]);
  });

  it('is not tried again when it forbids the message', async () => {
    await start();
    receiver.status = 403;
    receiver.answer = JSON.stringify({ errcode: 'M_FORBIDDEN', error: 'no' });
    await setRoom();
    await raise();
    await expect
      .poll(list)
      .toMatchObject([
        {
          delivery: {
            state: 'failed',
            attempts: 1,
            last_failure:
              'The homeserver answered 403. The user of the access token may not write in the room.',
          },
        },
      ]);
  });

  it('is tried again when its token has expired', async () => {
    await start();
    receiver.status = 401;
    await setRoom();
    await raise();
    const last_failure = 'The homeserver answered 401. The access token is not valid.';
    await expect.poll(list).toMatchObject([{ delivery: { state: 'pending', attempts: 1, last_failure } }]);
  });

  it('keeps its token while the room stays, and shows it nowhere', async () => {
    await start();
    const token = { status: 400, param: 'settings.matrix.access_token' };
    expect(await refusal(set({ matrix: room() }))).toMatchObject(token);
    await setRoom();
    expect(JSON.stringify(await parley.alertState())).not.toContain('syt_secret');
    expect(await (await set({ matrix: room() })).json()).toMatchObject({ settings: { matrix: room() } });
    await test();
    expect(receiver.received.at(-1)?.headers.authorization).toBe('Bearer syt_secret');
    const elsewhere = { ...room(), homeserver_url: `${receiver.origin}/other` };
    expect(await refusal(set({ matrix: elsewhere }))).toMatchObject(token);
  });

  it.each([
    ['homeserver_url', { homeserver_url: 'http://example.com' }],
    ['room_id', { room_id: '#alias:example.com' }],
    ['room_id', { room_id: '!a b' }],
    ['access_token', { access_token: 'a\r\nb: c' }],
  ])('needs a sound %s: %j', async (name, wrong) => {
    await start({ allowedNetworks: [] });
    const sound = { homeserver_url: 'https://example.com', room_id: '!a', access_token: 'token' };
    const answer = await refusal(set({ matrix: { ...sound, ...wrong } }));
    expect(answer).toMatchObject({ status: 400, param: `settings.matrix.${name}` });
  });
});

describe('mail', () => {
  const ops = { mail_addresses: ['ops@example.com'] };

  it('says what happened and what to do, and keeps its id until it is taken', async () => {
    await start(smtp());
    expect(await (await setByOperator({ ...half, ...ops })).json()).toMatchObject({
      settings: { ...half, ...ops },
    });
    await confirmAll();
    mails.refusal = 451;
    await raise();
    await expect
      .poll(list)
      .toMatchObject([
        {
          delivery: {
            state: 'pending',
            attempts: 1,
            last_failure: 'The mail server refused the mail with the code 451.',
          },
        },
      ]);
    mails.refusal = undefined;
    parley.clock.nowMs += 15_000;
    await expect.poll(list).toMatchObject([{ delivery: { state: 'delivered', attempts: 2 } }]);
    const [alert] = await list();
    for (const { to, source } of mails.received) {
      expect(to).toEqual(['ops@example.com']);
      const unfolded = source.replace(/\r\n[ \t]/g, ' ');
      expect(unfolded).toContain(`\r\nSubject: account-1: ${words}\r\n`);
      expect(unfolded).toContain(`\r\nMessage-ID: <${alert?.id}@example.com>\r\n`);
      const body = source.replace(/=\r\n/g, '').replace(/ \r\n/g, ' ');
      expect(body).toContain(advice);
      expect(body).toContain(`Account: ${parley.accountId}`);
    }
  });

  it('that is refused for good is given up, and later alerts are still sent', async () => {
    await start(smtp());
    await setByOperator({ ...half, ...ops });
    await confirmAll();
    mails.refusedAddresses.set('ops@example.com', 550);
    await raise();
    await expect
      .poll(list)
      .toMatchObject([
        {
          delivery: {
            state: 'failed',
            attempts: 1,
            last_failure: 'The mail server refused the address with the code 550.',
          },
        },
      ]);
    mails.refusedAddresses.clear();
    expect(await test()).toMatchObject({ delivery: { state: 'delivered' } });
  });

  it('goes where operators want it, and where holders want it only if the operator allows that', async () => {
    await start(smtp());
    const refused = await refusal(set(ops));
    expect(refused).toMatchObject({ status: 400, param: 'settings.mail_addresses' });
    expect(refused.message).toContain('`alerts.smtp.holdersMaySet`');
    await setByOperator(ops);
    // A holder may change the rest, before and after the confirmation.
    expect((await set({ ...half, ...ops })).status).toBe(200);
    await confirmAll();
    expect((await set({ ...half, ...ops })).status).toBe(200);
    expect((await set({ mail_addresses: ['victim@example.com'] })).status).toBe(400);
    await parley.close();
    await start(smtp({ holdersMaySet: true }));
    expect((await set(ops)).status).toBe(200);
    await confirmAll();
    expect(await test()).toMatchObject({ delivery: { state: 'delivered' } });
  });

  it('needs a mail server', async () => {
    await start();
    const refused = await refusal(setByOperator(ops));
    expect(refused).toMatchObject({ status: 400, param: 'settings.mail_addresses' });
    expect(refused.message).toContain('`alerts.smtp`');
  });

  it.each([
    [['ops@example.com\r\nRCPT TO:<victim@example.com>']],
    [['ops@example.com,victim@example.com']],
    [['nobody']],
    [Array.from({ length: 6 }, (_, at) => `${at}@example.com`)],
  ])('has sound addresses, at most five: %j', async (addresses) => {
    await start(smtp());
    const refused = await refusal(setByOperator({ mail_addresses: addresses }));
    expect(refused).toMatchObject({ status: 400, param: 'settings.mail_addresses' });
  });

  it('of an account with any name has the headers that the server wrote', async () => {
    await start(smtp());
    const name = 'Müller\r\nBcc: victim@example.com\r\n\r\nHello <b>';
    expect((await parley.administer('rename', { name })).status).toBe(200);
    await setByOperator(ops);
    expect(mails.received[0]?.source).not.toContain('Hello');
    await confirmAll();
    expect(await test()).toMatchObject({ delivery: { state: 'delivered' } });
    const [mail] = mails.received;
    expect(mail?.to).toEqual(['ops@example.com']);
    const [head = ''] = mail?.source.split('\r\n\r\n') ?? [];
    expect(head).not.toMatch(/^bcc:/im);
    expect(head).toMatch(/^Message-ID: /m);
  });
});
