/** Several nodes check the same accounts at once: each alert is raised and sent by one of them. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SecretSeal } from '../../../src/core/access/sealed.ts';
import { Alerts } from '../../../src/core/alerts/alerts.ts';
import { newWebhookSecret } from '../../../src/core/alerts/deliveries.ts';
import type { AlertObserver } from '../../../src/core/entities/alert.ts';
import type { Store } from '../../../src/core/entities/store.ts';
import { type AccountId, newAccountId } from '../../../src/core/values/ids.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { httpSender } from '../../../src/webhooks/http-sender.ts';
import { alertSettings, setAlerts } from '../../support/alert-settings.ts';
import { TestClock } from '../../support/parley.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { auditEntry } from '../../support/stored-key.ts';
import { startReceiver, toReceivers, type WebhookReceiver } from '../../support/webhook-receiver.ts';

const accounts = Array.from({ length: 60 }, (_, index) => newAccountId(index + 1));
const fairUse = {
  planUnitsPerMonth: 10,
  trialUnitsPerMonth: 10,
  speechUnitsPerCharacter: 1,
  transcriptionUnitsPerSecond: 1,
};
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

let database: TestDatabase;
let receiver: WebhookReceiver;
const closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  database = await newDatabase();
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await receiver.close();
  await database.drop();
});

async function open(): Promise<Store> {
  const store = await openPostgresStore({ url: database.url });
  closing.push(() => store.close());
  return store;
}

async function watch(store: Store, accountId: AccountId): Promise<void> {
  await store.accounts.create({ id: accountId, name: accountId, createdAtMs: 1 }, auditEntry());
  const destination = { kind: 'webhook', url: receiver.origin } as const;
  const webhook = { destination, sealedSecret: newWebhookSecret() };
  await setAlerts(store, accountId, alertSettings(webhook));
}

const clock = new TestClock();

function startAlerts(store: Store, observer: AlertObserver, attemptMsMax = 600_000): Alerts {
  const alerts = new Alerts(
    {
      store,
      observer,
      clock,
      accessClock: clock,
      fairUse,
      log: silent,
      seal: new SecretSeal(undefined),
      mail: undefined,
      sender: httpSender({ rules: toReceivers, userAgent: 'Parley/test', attemptMsMax }),
    },
    1,
  );
  closing.push(() => alerts.close());
  return alerts;
}

it('raises and sends each alert once, over three nodes', async () => {
  const stores = [await open(), await open(), await open()];
  const [store] = stores as [Store];
  for (const accountId of accounts) await watch(store, accountId);
  const rounds = stores.map((own) => vi.spyOn(own.alerts, 'due'));
  const raised: string[] = [];
  const outcomes: string[] = [];
  const observer: AlertObserver = {
    raised: (kind) => void raised.push(kind),
    attempted: (outcome) => void outcomes.push(outcome),
  };
  for (const own of stores) startAlerts(own, observer);
  await expect.poll(() => outcomes.length).toBe(accounts.length);
  const before = rounds.map(({ mock }) => mock.calls.length);
  await expect
    .poll(() => rounds.every(({ mock }, index) => mock.calls.length > (before[index] ?? 0) + 2))
    .toBe(true);
  expect(raised).toEqual(accounts.map(() => 'credits.low'));
  expect(new Set(outcomes)).toEqual(new Set(['delivered']));
  const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
  expect(ids).toHaveLength(accounts.length);
  expect(new Set(ids).size).toBe(accounts.length);
});

it('stops without waiting for a webhook, and leaves its alert pending', async () => {
  const store = await open();
  const [accountId] = accounts as [AccountId];
  await watch(store, accountId);
  receiver.holds = true;
  const alerts = startAlerts(store, { raised: () => undefined, attempted: () => undefined });
  await expect.poll(() => receiver.received.length).toBe(1);
  // An attempt could take ten minutes.
  await alerts.close();
  const { items } = await store.alerts.list(accountId, { size: 10, after: undefined });
  expect(items).toMatchObject([{ state: 'pending', attempts: 1, lastFailure: undefined }]);
});

it('confirms an address while the settings change, without a deadlock', async () => {
  const stores = [await open(), await open()] as const;
  const [accountId = newAccountId(1)] = accounts;
  await stores[0].accounts.create({ id: accountId, name: accountId, createdAtMs: 1 }, auditEntry());
  const mail = alertSettings({ destination: { kind: 'mail', addresses: [] }, sealedSecret: undefined });
  const waiting = {
    address: 'a@x.example',
    codeHash: 'code',
    sentAtMs: 1,
    expiresAtMs: 2,
    lastFailure: undefined,
  };
  for (let round = 0; round < 40; round++) {
    const before = await stores[0].alerts.settings(accountId);
    await stores[0].alerts.setSettings(accountId, mail, auditEntry(), [waiting.address], before);
    await stores[0].alerts.setCode(accountId, undefined, waiting);
    const known = await stores[0].alerts.settings(accountId);
    const [isConfirmed] = await Promise.all([
      stores[1].alerts.confirm(accountId, waiting.address, 'code', auditEntry()),
      stores[0].alerts.setSettings(accountId, mail, auditEntry(), [waiting.address], known),
    ]);
    expect(isConfirmed).toBe(true);
  }
  // The connections report when they end.
  for (const close of closing.splice(0)) await close();
  const text = 'select deadlocks from pg_stat_database where datname = current_database()';
  expect(await database.query(text)).toEqual([{ deadlocks: 0n }]);
});
