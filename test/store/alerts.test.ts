/** Alerts in the database. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newAlert } from '../../src/core/alerts/alerts.ts';
import {
  type AlertMark,
  alertsKept,
  type Destination,
  type NewAlertSettings,
} from '../../src/core/entities/alert.ts';
import { newAccountId } from '../../src/core/values/ids.ts';
import { alertSettings, setAlerts } from '../support/alert-settings.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { auditEntry } from '../support/stored-key.ts';

const accountId = newAccountId(1);
const destination = { kind: 'webhook', url: 'https://a.invalid/' } as const;
const settings = alertSettings({ destination, sealedSecret: 's' });
const stored = { ...settings, offAtMs: undefined, waiting: [] };
const newest = { size: 1000, after: undefined };

let parley: Parley;
let store: Parley['app']['store'];
beforeEach(async () => {
  parley = await startParley({ alerts: { intervalMs: 86_400_000 } });
  ({ store } = parley.app);
  await store.accounts.create({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
  await setAlerts(store, accountId, settings);
});
afterEach(() => parley.close());

const alertAt = (createdAtMs: number) => newAlert(accountId, 'test', {}, createdAtMs);

const mark: AlertMark = { kind: 'test', subject: 's', period: '2026-11', basis: '10', threshold: 50 };
const raise = (moved: Partial<AlertMark>, read?: Partial<AlertMark>) =>
  store.alerts.raise(alertAt(1), { ...mark, ...moved }, read && { ...mark, ...read });

describe('a mark', () => {
  it('moves on with a higher threshold, another basis or a later period, and never back', async () => {
    expect(await raise({})).toBe(true);
    expect(await raise({})).toBe(false);
    expect(await raise({}, {})).toBe(false);
    expect(await raise({ threshold: 49 }, {})).toBe(false);
    expect(await raise({ threshold: 51 }, {})).toBe(true);
    expect(await raise({ basis: '20' }, { threshold: 51 })).toBe(true);
    const read = { basis: '20' };
    expect(await raise({ period: '2026-10', basis: '30', threshold: 100 }, read)).toBe(false);
    expect(await raise({ period: '2026-12', basis: '20', threshold: 1 }, read)).toBe(true);
    expect(await raise({ subject: 'other' })).toBe(true);
    expect((await store.alerts.list(accountId, newest)).items).toHaveLength(5);
  });

  it('does not replace one that another node has moved meanwhile', async () => {
    expect(await raise({})).toBe(true);
    expect(await raise({ basis: '20' }, {})).toBe(true);
    expect(await raise({ basis: '10', threshold: 100 }, {})).toBe(false);
    expect(await raise({ threshold: 100 })).toBe(false);
  });

  it('is set once, also by concurrent attempts', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => raise({})));
    expect(all.filter((isRaised) => isRaised)).toHaveLength(1);
  });

  it('needs settings', async () => {
    await store.alerts.setSettings(accountId, undefined, auditEntry(), [], undefined);
    expect(await raise({})).toBe(false);
  });
});

describe('settings', () => {
  it('replace only those on which they were decided', async () => {
    const other = { ...settings, destination: { kind: 'mail', addresses: ['a@b.c'] } } as const;
    const without = { ...settings, destination: undefined, sealedSecret: undefined };
    const set = (to: NewAlertSettings | undefined, before: NewAlertSettings | undefined) =>
      store.alerts.setSettings(accountId, to, auditEntry(), [], before);
    const audited = async () => (await store.audit.list(newest)).items.length;
    const entries = await audited();
    expect(await set(other, undefined)).toBe(false);
    expect(await set(other, other)).toBe(false);
    expect(await set(other, without)).toBe(false);
    expect(await store.alerts.settings(accountId)).toEqual(stored);
    expect(await audited()).toBe(entries);
    expect(await set(without, settings)).toBe(true);
    expect(await set(other, without)).toBe(true);
    expect(await store.alerts.settings(accountId)).toEqual({ ...stored, ...other });
    expect(await set(undefined, undefined)).toBe(true);
    expect(await set(without, without)).toBe(false);
    expect(await set(without, undefined)).toBe(true);
  });
});

describe('a destination', () => {
  it.each<Destination>([
    { kind: 'webhook', url: 'https://a.invalid/b?c=d' },
    { kind: 'mail', addresses: ['ops@a.invalid', "o'hara+x@b.invalid"] },
    { kind: 'slack', url: 'https://hooks.a.invalid' },
    { kind: 'matrix', url: 'https://a.invalid/base', roomId: '!room:a.invalid' },
  ])('is kept with its secret: $kind', async (wanted) => {
    const own = { ...settings, destination: wanted };
    await setAlerts(store, accountId, own);
    expect(await store.alerts.settings(accountId)).toEqual({ ...stored, ...own });
    const alert = alertAt(1);
    await store.alerts.raise(alert, mark);
    expect(await store.alerts.due(1, 10)).toEqual([
      { alert, accountName: 'a', destination: wanted, sealedSecret: 's' },
    ]);
  });
});

describe('alerts', () => {
  it('are kept up to a number, newest first', async () => {
    const add = (atMs: number) => store.alerts.raise(alertAt(atMs), { ...mark, subject: String(atMs) });
    for (let at = 1; at <= alertsKept; at += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, index) => add(at + index)));
    }
    for (let at = alertsKept + 1; at <= alertsKept + 5; at++) await add(at);
    const { items, nextAfter } = await store.alerts.list(accountId, newest);
    expect(items).toHaveLength(alertsKept);
    expect([items[0]?.createdAtMs, items.at(-1)?.createdAtMs, nextAfter]).toEqual([1005, 6, undefined]);
  });

  it('are claimed once for each attempt', async () => {
    const alert = alertAt(1);
    await store.alerts.raise(alert, mark);
    const claims = await Promise.all([5, 6, 7].map((nextAtMs) => store.alerts.claim(alert, nextAtMs)));
    expect(claims.filter((isClaimed) => isClaimed)).toHaveLength(1);
    expect(await store.alerts.due(4, 10)).toEqual([]);
    expect(await store.alerts.due(7, 10)).toMatchObject([{ alert: { attempts: 1 } }]);
  });

  it('are pending if there is a destination when they are written', async () => {
    const stateOf = async (changed: Partial<typeof settings>) => {
      await setAlerts(store, accountId, { ...settings, ...changed });
      const alert = alertAt(1);
      await store.alerts.raise(alert, { ...mark, subject: alert.id });
      const { items } = await store.alerts.list(accountId, newest);
      return items.find(({ id }) => id === alert.id);
    };
    expect(await stateOf({})).toMatchObject({ state: 'pending', nextAttemptAtMs: 1 });
    expect(await stateOf({ destination: undefined })).toMatchObject({
      state: 'none',
      nextAttemptAtMs: undefined,
    });
    await setAlerts(store, accountId, settings);
    const due = { alert: alertAt(1), accountName: 'a', destination, sealedSecret: 's' };
    await store.alerts.turnOff({ ...due, sealedSecret: 'another' }, 1, 'off');
    await store.alerts.turnOff({ ...due, destination: { kind: 'slack', url: 'o' } }, 1, 'off');
    expect(await store.alerts.settings(accountId)).toEqual(stored);
    await store.alerts.turnOff(due, 1, 'off');
    expect(await store.alerts.settings(accountId)).toEqual({ ...stored, offAtMs: 1 });
    const alert = alertAt(2);
    await store.alerts.raise(alert, { ...mark, subject: alert.id });
    expect((await store.alerts.list(accountId, newest)).items[0]).toMatchObject({
      id: alert.id,
      state: 'none',
    });
  });

  it('wait behind other accounts after a failed attempt of their own account', async () => {
    const other = newAccountId(2);
    await store.accounts.create({ id: other, name: 'b', createdAtMs: 1 }, auditEntry());
    await setAlerts(store, other, settings);
    const [first, second, third] = [alertAt(1), alertAt(2), { ...alertAt(3), accountId: other }] as const;
    for (const alert of [first, second, third]) {
      await store.alerts.raise(alert, { ...mark, subject: alert.id });
    }
    const dueAt = async (nowMs: number) => (await store.alerts.due(nowMs, 1)).map(({ alert }) => alert.id);
    expect(await dueAt(5)).toEqual([first.id]);
    await store.alerts.endAttempt(first, { state: 'failed', failure: 'f', nextAtMs: 10 });
    expect(await dueAt(9)).toEqual([third.id]);
    await store.alerts.endAttempt(third, { state: 'pending', failure: 'f', nextAtMs: 11 });
    expect(await dueAt(10)).toEqual([second.id]);
    await store.alerts.endAttempt(second, { state: 'pending', failure: 'f', nextAtMs: 12 });
    expect(await dueAt(12)).toEqual([third.id]);
  });

  it('are given up when the destination is removed', async () => {
    await store.alerts.raise(alertAt(1), mark);
    await setAlerts(store, accountId, { ...settings, destination: undefined });
    const { items } = await store.alerts.list(accountId, newest);
    expect(items).toMatchObject([
      { state: 'failed', lastFailure: 'The destination was removed.', nextAttemptAtMs: undefined },
    ]);
  });
});
