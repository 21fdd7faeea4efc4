/** Random steps on each database beside a model of the rules of money, also after a kill. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Store } from '../../src/core/entities/store.ts';
import type { RecordStart } from '../../src/core/entities/usage.ts';
import {
  type AccountId,
  newAccountId,
  newKeyId,
  newLedgerEntryId,
  newRequestId,
} from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { type Books, BooksModel } from '../support/books-model.ts';
import { newStoreFolder, type StoreFolder, testsPostgres } from '../support/store-folder.ts';
import { addAccount, auditEntry } from '../support/stored-key.ts';

/** A step on PostgreSQL takes a few milliseconds. */
const steps = testsPostgres ? 1_000 : 3_000;
const seeds = [1, 2, 3];
const keys = new Map([1, 2].map((n) => [newAccountId(n), newKeyId(n)]));

/** A disk that is busy for two seconds makes no step late. The copy of a kill does not need the disk. */
const withoutSync = `do $$ begin
  execute format('alter database %I set synchronous_commit = off', current_database());
end $$`;

let folder: StoreFolder;
let store: Store;
beforeEach(async () => {
  folder = await newStoreFolder();
  if (testsPostgres) await folder.execute(withoutSync);
  store = await folder.open();
  for (const [id, keyId] of keys) {
    await addAccount(store, id, [keyId]);
  }
});
afterEach(async () => {
  await store.close();
  await folder.remove();
});

const played: Books = {
  async reserve(accountId, reservation) {
    const start = startOf(accountId, reservation.hold ? 'chat' : 'speech');
    return { id: start.id, outcome: await store.requests.reserve(start, reservation) };
  },
  extend: (id, counted) => store.requests.extend(id, counted),
  settle: (id, end) => store.requests.settle(id, end),
  enter(accountId, amount, reference) {
    const kind = amount < 0n ? 'adjustment' : 'load';
    const entry = {
      id: newLedgerEntryId(1),
      accountId,
      kind,
      reason: 'r',
      reference,
      createdAtMs: 1,
    } as const;
    return store.ledger.enter({ ...entry, amount: nanoCredits(amount) }, auditEntry());
  },
  async funds(id) {
    const { balance = 0n, held = 0n } = (await store.accounts.find(id)) ?? {};
    return { balance, held };
  },
  taken: (counts) => store.requests.taken(counts),
};

function startOf(accountId: AccountId, operation: 'chat' | 'speech'): RecordStart {
  const keyId = keys.get(accountId) ?? newKeyId(1);
  const startedAtMs = Date.UTC(2026, 10, 5);
  const id = newRequestId(Date.now());
  return { id, accountId, keyId, operation, model: 'm', wire: 'rest', startedAtMs, characters: undefined };
}

it.each(seeds)(
  'the rules of money are kept after each of many random steps and after a kill (%s)',
  async (seed) => {
    const model = new BooksModel(played, keys, seed);
    for (let step = 0; step < steps; step += 10) {
      await model.play(10);
      await model.check();
    }
    const killed = await folder.killed();
    await store.close();
    await folder.remove();
    folder = killed;
    store = await folder.open();
    await store.requests.recover(Date.now());
    model.release();
    await model.check();
    const { faults } = await folder.books();
    // The model and the records have different months.
    expect(faults.filter((fault) => !fault.startsWith('used units'))).toEqual([]);
  },
);
