/** Alerts read accounts with their keys and used amounts. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Key } from '../../src/core/entities/key.ts';
import { newAccountId, newKeyId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { setAlerts } from '../support/alert-settings.ts';
import { inGroups } from '../support/in-groups.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { auditEntry, storedKey } from '../support/stored-key.ts';

const nowMs = 1_000;
const accounts = [newAccountId(1), newAccountId(2)] as const;

let parley: Parley;
let store: Parley['app']['store'];
beforeEach(async () => {
  parley = await startParley({ alerts: { intervalMs: 86_400_000 } });
  ({ store } = parley.app);
  for (const accountId of accounts) {
    await store.accounts.create({ id: accountId, name: accountId, createdAtMs: 1 }, auditEntry());
    await setAlerts(store, accountId);
  }
});
afterEach(() => parley.close());

async function addKey(accountId: (typeof accounts)[number], more: Partial<Key> = {}) {
  const limits = { budgets: { total: nanoCredits(5n) } };
  const id = newKeyId(1);
  await store.keys.create(storedKey(id, accountId, { hash: id, limits, ...more }), auditEntry());
  return id;
}

it('each account has its limited keys that are neither revoked nor expired', async () => {
  const [first, second] = accounts;
  const live = [await addKey(first), await addKey(first, { expiresAtMs: nowMs + 1 })].sort();
  await addKey(first, { expiresAtMs: nowMs });
  await addKey(first, { limits: undefined });
  const other = await addKey(second);
  const watched = await store.alerts.watched({ nowMs, accessNowMs: nowMs }, { size: 10, after: '' });
  expect(watched.map(({ account, keys }) => [account.id, keys.map(({ id }) => id)])).toEqual([
    [first, live],
    [second, [other]],
  ]);
});

it('the used amounts of many keys are read while other work goes on', async () => {
  const [accountId] = accounts;
  await inGroups(new Array(900).fill(0), () => addKey(accountId));
  let turns = 0;
  let isReading = true;
  const turn = () => {
    turns++;
    if (isReading) setImmediate(turn);
  };
  setImmediate(turn);
  const [watched] = await store.alerts.watched({ nowMs, accessNowMs: nowMs }, { size: 10, after: '' });
  expect(watched?.keys.map(({ originId }) => watched.usedCredits(originId, 'all'))).toEqual(
    new Array(900).fill(0n),
  );
  isReading = false;
  expect(turns).toBeGreaterThan(5);
});
