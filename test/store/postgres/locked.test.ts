/** Another program locks the row of an account: only requests of that account wait. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../../src/core/entities/store.ts';
import { type AccountId, newAccountId, newKeyId } from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { withClient } from '../../support/postgres/client.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { addAccount } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(1n) };
const hold = { amount: nanoCredits(10n), price };
const [locked, free] = [newAccountId(1), newAccountId(2)];
const keys = new Map([locked, free].map((id, n) => [id, newKeyId(n + 1)]));

let database: TestDatabase;
let store: Store;
beforeEach(async () => {
  database = await newDatabase();
  store = await openPostgresStore({ url: database.url });
  for (const [id, keyId] of keys) {
    await addAccount(store, id, [keyId], 1000n);
  }
});
afterEach(async () => {
  await store.close();
  await database.drop();
});

const reserve = async (accountId: AccountId) => {
  const start = recordStart({ accountId, keyId: keys.get(accountId) ?? newKeyId(3) });
  const outcome = await store.requests.reserve(start, { hold });
  expect(outcome.kind).toBe('reserved');
  return start.id;
};
const end = recordEnd('ok', { cost: nanoCredits(3n) });

it('delays no requests of other accounts, and its own only until it is released', async () => {
  const running = await Promise.all([locked, locked, locked, free].map(reserve));
  await withClient(database.url, async (client) => {
    await client.query('begin');
    await client.query(
      'select from accounts where id = any(select id from accounts order by id limit 1) for update',
    );
    let settled = 0;
    const ends = running.map((id) => store.requests.settle(id, end).finally(() => settled++));
    // They share the first group.
    await ends[3];
    expect(settled).toBe(1);
    for (let n = 0; n < 5; n++) await store.requests.settle(await reserve(free), end);
    expect(settled).toBe(1);
    await client.query('rollback');
    await Promise.all(ends);
  });
  expect(await store.ledger.available(locked)).toBe(1000n - 9n);
  expect(await store.ledger.available(free)).toBe(1000n - 18n);
});
