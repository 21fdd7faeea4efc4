/** An account whose alerts cannot be raised: other accounts get theirs. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AccountId, newAccountId } from '../../../src/core/values/ids.ts';
import { alertSettings, setAlerts } from '../../support/alert-settings.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { auditEntry } from '../../support/stored-key.ts';
import { startReceiver, toReceivers, type WebhookReceiver } from '../../support/webhook-receiver.ts';

const failing = newAccountId(1);
const sound = newAccountId(2);

let parley: Parley;
let receiver: WebhookReceiver;
const logged: object[] = [];
beforeEach(async () => {
  receiver = await startReceiver();
  const note = (fields: object) => void logged.push(fields);
  parley = await startParley({
    settings: { alerts: toReceivers },
    alerts: { intervalMs: 5 },
    log: { info: () => undefined, warn: () => undefined, error: note },
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await parley.close();
  await receiver.close();
});

async function watch(accountId: AccountId): Promise<void> {
  const { store } = parley.app;
  await store.accounts.create({ id: accountId, name: accountId, createdAtMs: 1 }, auditEntry());
  const destination = { kind: 'webhook', url: receiver.origin } as const;
  const webhook = { destination, sealedSecret: 'whsec_c2VjcmV0' };
  await setAlerts(store, accountId, alertSettings(webhook));
}

it('delays no other account, and is logged once', async () => {
  const { store } = parley.app;
  const { raise } = store.alerts;
  const tries = vi.spyOn(store.alerts, 'raise').mockImplementation((alert, ...rest) => {
    return alert.accountId === failing ? Promise.reject(new Error('refused')) : raise(alert, ...rest);
  });
  await watch(failing);
  await watch(sound);
  await expect.poll(() => receiver.received).toMatchObject([{ alert: { account_id: sound } }]);
  const before = tries.mock.calls.length;
  await expect.poll(() => tries.mock.calls.length).toBeGreaterThan(before + 1);
  expect(logged).toEqual([{ err: expect.objectContaining({ message: 'refused' }), what: failing }]);
});
