/** `parley doctor` compares the sums of ended days with their records, on each database. */
import { expect, it, onTestFinished } from 'vitest';
import { diagnoseStore } from '../../src/app/diagnostics/store.ts';
import { loadConfig } from '../../src/config/config.ts';
import { newAccountId, newKeyId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { newStoreFolder } from '../support/store-folder.ts';
import { auditEntry, storedKey } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

const dayMs = 86_400_000;
const firstMs = Date.UTC(2026, 9, 1);

async function startWithDays() {
  const folder = await newStoreFolder();
  const store = await folder.open();
  onTestFinished(async () => {
    await store.close();
    await folder.remove();
  });
  const [accountId, keyId] = [newAccountId(1), newKeyId(1)];
  await store.accounts.create({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
  await store.keys.create(storedKey(keyId, accountId), auditEntry());
  const record = (startedAtMs: number) => {
    const start = recordStart({ accountId, keyId }, { operation: 'chat', model: 'm', startedAtMs });
    return store.requests.record(start, recordEnd('ok', { cost: nanoCredits(7n) }));
  };
  for (let at = 0; at < 40; at++) await record(firstMs + (at * dayMs) / 4);
  const config = loadConfig({ env: {}, overrides: folder.settings });
  const found = async () => {
    const { diagnostics } = await diagnoseStore(config, {
      signal: new AbortController().signal,
      checksPages: false,
    });
    return diagnostics.find(({ subject }) => subject === 'sums of days');
  };
  const sum = () => store.usage.sumEndedDays(new AbortController().signal);
  return { folder, store, record, found, sum };
}

it('finds them equal, also after pruning and with late records', async () => {
  const { store, record, found, sum } = await startWithDays();
  expect(await found()).toMatchObject({ state: 'ok', found: expect.stringContaining('newest 0 ended days') });
  await sum();
  expect(await found()).toMatchObject({ state: 'ok', found: expect.stringContaining('newest 7 ended days') });
  await store.usage.prune(
    { recordsBeforeMs: firstMs + 5.5 * dayMs, answersBeforeMs: 0 },
    1_000,
    auditEntry(),
  );
  await record(firstMs + 8 * dayMs);
  expect(await found()).toMatchObject({ state: 'ok' });
  await sum();
  expect(await found()).toMatchObject({ state: 'ok', found: expect.stringContaining('newest 7 ended days') });
});

it.each([
  `update usage_day_sums set cost_nano_credits = cost_nano_credits + 1 where day = '2026-10-06'`,
  `update usage_sums set requests = requests - 1 where day = '2026-10-06'`,
])('names a day with other sums, and how to sum it again: %s', async (damage) => {
  const { folder, found, sum } = await startWithDays();
  await sum();
  await folder.execute(damage);
  const wrong = await found();
  expect(wrong).toMatchObject({ state: 'problem', found: expect.stringContaining('2026-10-06') });
  const [, repair = ''] = /: (insert into late_days values \(\d+, 0\))\./.exec(wrong?.advice ?? '') ?? [];
  await folder.execute(repair);
  await sum();
  expect(await found()).toMatchObject({ state: 'ok' });
});
