/** Alerts of a running server, from the usage of an account to its webhook. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type AlertedParley, startAlerted } from '../../support/alerted-parley.ts';
import { errorOf } from '../../support/parley.ts';
import { startReceiver, toReceivers, type WebhookReceiver } from '../../support/webhook-receiver.ts';
import { verified } from '../../support/webhook-signature.ts';

const day = 86_400_000;

let parley: AlertedParley;
let receiver: WebhookReceiver;
const logged: { fields: object; message: string }[] = [];
const note = (fields: object, message: string) => void logged.push({ fields, message });

beforeEach(async () => {
  logged.length = 0;
  receiver = await startReceiver();
  parley = await startAlerted(toReceivers, { log: { info: note, warn: note, error: note } });
});
afterEach(async () => {
  await parley.close();
  await receiver.close();
});

const test = () => parley.manage('test', {});

async function set(settings: object, more: object = {}): Promise<{ secret?: string }> {
  const answer = await parley.manage('settings', { settings, ...more });
  expect(answer.status, await answer.clone().text()).toBe(200);
  return (await answer.json()) as { secret?: string };
}
const hook = () => `${receiver.origin}/hook?token=t`;

const list = () => parley.alertList();
const types = async () => (await list()).map(({ type, percent }) => (percent ? `${type} ${percent}` : type));
const sent = () => receiver.received.map(({ alert }) => alert);

/** Waits for a complete check of all accounts that began after this moment. */
async function swept(): Promise<void> {
  const ends = vi.spyOn(parley.app.store.alerts, 'due');
  await expect.poll(() => ends.mock.calls.length).toBeGreaterThan(1);
  ends.mockRestore();
}

describe('a budget', () => {
  it('raises each percent once, and only the highest of several at once', async () => {
    await parley.setAccountLimits({ budgets: { month: '10' } });
    const { secret } = await set({ webhook_url: hook(), percents: [50, 80, 100] });
    const key = await parley.keyWith({});
    for (let chat = 0; chat < 4; chat++) await key.chat(1);
    expect(await types()).toEqual([]);
    await key.chat(1);
    await expect.poll(types).toEqual(['budget.used 50']);
    parley.engine.completionTokens = 5;
    await key.chat(5);
    await expect.poll(() => sent().map(({ percent }) => percent)).toEqual([50, 100]);
    expect((await types()).sort()).toEqual(['budget.used 100', 'budget.used 50']);
    expect(sent()[0]).toEqual({
      id: expect.stringMatching(/^alr_[0-9a-f]{32}$/),
      type: 'budget.used',
      created_at: '2026-11-28T12:00:00Z',
      account_id: parley.accountId,
      percent: 50,
      limit_name: 'budgets.month',
      used: '5',
      limit: '10',
      resets_at: '2026-12-01T00:00:00Z',
    });
    for (const one of receiver.received) {
      expect(verified(secret ?? '', one)).toBe(true);
      expect(verified(secret ?? '', { ...one, body: `${one.body} ` })).toBe(false);
    }
  });

  it('starts again with its month, and when it is changed', async () => {
    await parley.setAccountLimits({ budgets: { month: '2' } });
    await set({ webhook_url: hook(), percents: [50] });
    const key = await parley.keyWith({});
    await key.chat(1);
    await expect.poll(types).toEqual(['budget.used 50']);
    parley.clock.nowMs = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
    await swept();
    expect(await types()).toEqual(['budget.used 50']);
    parley.clock.nowMs = Date.UTC(2026, 11, 1);
    await key.chat(1);
    await expect.poll(() => sent().filter(({ type }) => type === 'budget.used').length).toBe(2);
    await key.chat(1);
    await parley.setAccountLimits({ budgets: { month: '4' } });
    await expect
      .poll(() =>
        sent()
          .filter(({ type }) => type === 'budget.used')
          .at(-1),
      )
      .toMatchObject({ limit: '4', used: '2', percent: 50, resets_at: '2027-01-01T00:00:00Z' });
  });

  it('of a key names the key, and continues through a rotation', async () => {
    await set({ webhook_url: hook(), percents: [100] });
    const key = await parley.keyWith({ budgets: { total: '2' } });
    await key.chat(1);
    await key.chat(1);
    await expect.poll(sent).toMatchObject([{ key_id: key.id, limit_name: 'budgets.total', used: '2' }]);
    expect(sent()[0]).not.toHaveProperty('resets_at');
    await parley.admin(`/keys/${key.id}/rotate`, {});
    await swept();
    expect(sent()).toHaveLength(1);
  });
});

describe('a balance', () => {
  it('raises once when it is below the amount, and again after a load', async () => {
    await set({ webhook_url: hook(), balance_below: '9' });
    const key = await parley.keyWith({});
    await key.chat(1);
    await swept();
    expect(sent()).toEqual([]);
    await key.chat(1);
    await expect
      .poll(() => sent().filter(({ type }) => type === 'credits.low'))
      .toMatchObject([{ balance: '8', balance_below: '9' }]);
    await key.chat(1);
    const load = { amount: '1', reason: 'r', idempotency_key: 'second' };
    parley.clock.nowMs += 1;
    expect((await parley.administer('credits', load)).status).toBe(200);
    await expect.poll(() => sent().filter(({ type }) => type === 'credits.low').length).toBe(2);
    expect(sent().at(-1)).toMatchObject({ balance: '8' });
  });
});

describe('fair use', () => {
  it('raises at the percents of the allowance', async () => {
    await set({ webhook_url: hook(), percents: [1] });
    const key = await parley.keyWith({});
    for (let spoken = 0; spoken < 3; spoken++) expect((await key.speak('x'.repeat(999))).status).toBe(200);
    await swept();
    expect(sent()).toEqual([]);
    await key.speak('xxx');
    await expect
      .poll(() => sent().at(-1))
      .toMatchObject({
        type: 'fair_use.used',
        percent: 1,
        used: '3000',
        limit: '300000',
        resets_at: '2026-12-01T00:00:00Z',
      });
  });
});

describe('a trial', () => {
  it('raises three days before its end and at its end, unless a plan goes on', async () => {
    await set({ webhook_url: hook() });
    const endsAtMs = parley.clock.nowMs + 14 * day;
    parley.clock.nowMs = endsAtMs - 3 * day - 1;
    await swept();
    expect(sent()).toEqual([]);
    parley.clock.nowMs += 1;
    await expect.poll(() => sent().at(-1)).toMatchObject({ type: 'trial.ending' });
    parley.clock.nowMs = endsAtMs;
    await expect
      .poll(() => sent().at(-1))
      .toMatchObject({ type: 'trial.ended', ends_at: new Date(endsAtMs).toISOString().replace('.000', '') });
    const planEndsAt = new Date(endsAtMs + 40 * day).toISOString();
    expect((await parley.administer('plan', { ends_at: planEndsAt })).status).toBe(200);
    await swept();
    expect(sent()).toHaveLength(2);
    parley.clock.nowMs = endsAtMs + 38 * day;
    await expect.poll(() => sent().at(-1)).toMatchObject({ type: 'plan.ending' });
  });
});

describe('the delivery', () => {
  it('continues through failures, with the same id, until the webhook accepts it', async () => {
    receiver.status = 500;
    await parley.setAccountLimits({ budgets: { day: '1' } });
    await set({ webhook_url: hook(), percents: [100] });
    await (await parley.keyWith({})).chat(1);
    await expect
      .poll(list)
      .toMatchObject([
        { delivery: { state: 'pending', attempts: 1, last_failure: 'The webhook answered 500.' } },
      ]);
    receiver.status = 302;
    parley.clock.nowMs += 14_999;
    await expect.poll(() => parley.app.store.alerts.due(parley.clock.nowMs, 1)).toEqual([]);
    parley.clock.nowMs += 1;
    await expect
      .poll(list)
      .toMatchObject([
        { delivery: { attempts: 2, last_failure: 'The webhook answered 302. Redirects are not followed.' } },
      ]);
    receiver.status = 204;
    parley.clock.nowMs += 30_000;
    await expect.poll(list).toMatchObject([{ delivery: { state: 'delivered', attempts: 3 } }]);
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(receiver.received.map(({ path }) => path)).toEqual(new Array(3).fill('/hook?token=t'));
  });

  it('is given up after three days, which is logged', async () => {
    receiver.status = 503;
    await parley.setAccountLimits({ budgets: { total: '1' } });
    await set({ webhook_url: hook(), percents: [100] });
    await (await parley.keyWith({})).chat(1);
    await expect
      .poll(list)
      .toMatchObject([
        { delivery: { state: 'pending', attempts: 1, last_failure: 'The webhook answered 503.' } },
      ]);
    parley.clock.nowMs += 3 * day;
    await expect.poll(list).toMatchObject([{ delivery: { state: 'failed', attempts: 2 } }]);
    const [alert] = await list();
    expect(logged).toContainEqual({
      fields: expect.objectContaining({ alert: alert?.id, failure: 'The webhook answered 503.' }),
      message: 'gave up delivering an alert',
    });
    const metrics = await parley.metrics();
    expect(metrics.split('\n')).toEqual(
      expect.arrayContaining([
        'parley_alerts_raised_total{type="budget.used"} 1',
        'parley_alert_attempts_total{outcome="failed"} 1',
        'parley_alert_attempts_total{outcome="given_up"} 1',
      ]),
    );
  });

  it('stops after 410, until the webhook is set again', async () => {
    receiver.status = 410;
    await parley.setAccountLimits({ budgets: { total: '1' } });
    await set({ webhook_url: hook(), percents: [100] });
    const key = await parley.keyWith({});
    await key.chat(1);
    await expect.poll(list).toMatchObject([{ delivery: { state: 'failed', attempts: 1 } }]);
    expect(await parley.alertState()).toMatchObject({ webhook_off_at: '2026-11-28T12:00:00Z' });
    expect((await test()).status).toBe(400);
    receiver.status = 200;
    expect(await set({ webhook_url: hook() })).not.toHaveProperty('secret');
    expect(await (await test()).json()).toMatchObject({ delivery: { state: 'delivered' } });
  });

  it('waits while the account is suspended, and is dropped when it is deleted', async () => {
    await parley.setAccountLimits({ budgets: { total: '1' } });
    const key = await parley.keyWith({});
    await key.chat(1);
    expect((await parley.administer('suspend', {})).status).toBe(200);
    const settings = { settings: { webhook_url: hook(), percents: [100] } };
    expect((await parley.administer('alerts/settings', settings)).status).toBe(200);
    const watched = () =>
      parley.app.store.alerts.watched({ nowMs: 1, accessNowMs: 1 }, { size: 10, after: '' });
    expect(await watched()).toEqual([]);
    expect((await parley.administer('resume', {})).status).toBe(200);
    await expect.poll(() => sent().length).toBe(1);
    expect((await parley.administer('delete', {})).status).toBe(200);
    expect(await watched()).toEqual([]);
    expect(await parley.app.store.alerts.settings(parley.accountId)).toBeUndefined();
    const { items } = await parley.app.store.alerts.list(parley.accountId, { size: 10, after: undefined });
    expect(items).toEqual([]);
  });

  it('reports at once how the webhook answered a test, and allows one test in ten seconds', async () => {
    await set({ webhook_url: hook() });
    const answer = await test();
    expect(await answer.json()).toMatchObject({
      type: 'test',
      delivery: { state: 'delivered', attempts: 1 },
    });
    expect(await errorOf(await test())).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    parley.clock.nowMs += 10_000;
    receiver.status = 500;
    expect(await (await test()).json()).toMatchObject({
      delivery: { state: 'failed', attempts: 1, last_failure: 'The webhook answered 500.' },
    });
  });
});
