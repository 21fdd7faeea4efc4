/** Pages of accounts in every order and with every filter, against the same lists made by hand. */
import { afterAll, describe, expect, it } from 'vitest';
import {
  type Account,
  type AccountFilter,
  type AccountOrder,
  accountOrders,
  accountStates,
  entitlementAt,
  type Period,
} from '../../src/core/entities/account.ts';
import { newAccountId, newKeyId, newLedgerEntryId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { newStoreFolder } from '../support/store-folder.ts';
import { auditEntry, storedKey } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

const nowMs = 1_000_000_000;
const periods: readonly (Period | undefined)[] = [
  undefined,
  { startsAtMs: nowMs, endsAtMs: nowMs + 1 },
  { startsAtMs: nowMs - 1, endsAtMs: nowMs },
  { startsAtMs: nowMs + 1, endsAtMs: nowMs + 2 },
];

const all: Account[] = [];
const gone = newAccountId(99);

/** An account for each pair of trial and plan. Some are suspended or used, and some have the same balance. */
async function makeAccount(n: number): Promise<void> {
  const id = newAccountId(n);
  const letter = String.fromCharCode(97 + ((n * 7) % 16));
  await store.accounts.create(
    { id, name: `${n % 2 ? 'Odd' : 'even'} ${letter} 100%`, createdAtMs: n },
    auditEntry(),
  );
  const trial = periods[n % 4];
  const plan = periods[n >> 2];
  if (trial) await store.accounts.startTrial(id, trial, auditEntry());
  if (plan) await store.accounts.setPlan(id, plan, auditEntry());
  if (n % 5 === 0) await store.accounts.suspend(id, nowMs, auditEntry());
  const load = { kind: 'load', amount: nanoCredits(BigInt(1 + (n % 3))), reason: 'r' } as const;
  await store.ledger.enter(
    { id: newLedgerEntryId(n), accountId: id, reference: `load ${n}`, createdAtMs: n, ...load },
    auditEntry(),
  );
  if (n % 2 === 1) return;
  for (const [place, minute] of [n, 16 - n].entries()) {
    const keyId = newKeyId(n * 2 + place);
    await store.keys.create(storedKey(keyId, id, { hash: keyId }), auditEntry());
    const start = recordStart({ accountId: id, keyId }, { startedAtMs: minute * 60_000 });
    await store.requests.record(start, recordEnd('ok'));
  }
}

const folder = await newStoreFolder();
const store = await folder.open();
for (let n = 0; n < 16; n++) await makeAccount(n);
const { items } = await store.accounts.list({ size: 100, after: undefined }, { nowMs }, 'created');
all.push(...items);
await store.accounts.create({ id: gone, name: 'Gone 100%', createdAtMs: 99 }, auditEntry());
await store.accounts.delete(gone, nowMs, auditEntry());
afterAll(async () => {
  await store.close();
  await folder.remove();
});

const keys: Record<AccountOrder, (account: Account) => string> = {
  created: ({ id }) => id,
  created_desc: ({ id }) => id,
  name: ({ name, id }) => name.toLowerCase() + id,
  credits: ({ balance, id }) => `${balance} ${id}`,
  last_used: ({ lastUsedAtMs = 0, id }) => String(lastUsedAtMs).padStart(10, '0') + id,
};

function expected({ nameContains = '', state }: AccountFilter, order: AccountOrder): Account[] {
  const kept = all.filter((account) => {
    const isInState =
      state === 'suspended'
        ? account.suspendedAtMs !== undefined
        : entitlementAt(account.subscription, nowMs).state === state;
    const has = account.name.toLowerCase().includes(nameContains.toLowerCase());
    return has && (state === undefined || isInState);
  });
  const byKey = kept.sort((a, b) => (keys[order](a) < keys[order](b) ? -1 : 1));
  return order === 'created' || order === 'name' ? byKey : byKey.reverse();
}

async function listed(filter: AccountFilter, order: AccountOrder, size: number): Promise<Account[]> {
  const items: Account[] = [];
  let after: string | undefined;
  do {
    const page = await store.accounts.list({ size, after }, filter, order);
    items.push(...page.items);
    after = page.nextAfter;
  } while (after !== undefined);
  return items;
}

describe('lists of accounts', () => {
  it('knows all accounts, with the latest use of any of their keys', () => {
    expect(all).toHaveLength(16);
    expect(all.map(({ lastUsedAtMs }) => lastUsedAtMs)).toEqual(
      all.map((_, n) => (n % 2 === 1 ? undefined : Math.max(n, 16 - n) * 60_000)),
    );
  });

  const filters = [undefined, ...accountStates].flatMap((state) =>
    [undefined, 'EVEN', '0%', 'f'].map((nameContains) => ({ state, nameContains, nowMs })),
  );
  it.each(accountOrders)('are in the order %s, on pages of any size, with every filter', async (order) => {
    for (const filter of filters) {
      const wanted = expected(filter, order);
      for (const size of [1, 3, 16]) {
        expect(await listed(filter, order, size), JSON.stringify({ filter, size })).toEqual(wanted);
      }
    }
  });

  it('are summed with every filter', async () => {
    for (const filter of filters) {
      const wanted = expected(filter, 'created');
      expect(await store.accounts.totals(filter)).toEqual({
        accounts: BigInt(wanted.length),
        balance: wanted.reduce((sum, { balance }) => sum + balance, 0n),
      });
    }
  });

  it('tell the last use of one account', async () => {
    const [first] = all;
    expect(await store.accounts.find(first?.id ?? '')).toEqual(first);
    expect(await store.accounts.find(first?.name ?? '')).toEqual(first);
  });

  it('name accounts and keys by their ids, also a deleted account and a revoked key', async () => {
    const [first, second] = all;
    const ids = [first?.id ?? '', second?.id ?? '', gone, 'acc_0', `it's "quoted"`];
    const names = await store.accounts.names(ids);
    expect(new Map(names.map(({ id, name }) => [id, name]))).toEqual(
      new Map([first, second, await store.accounts.find(gone)].map((one) => [one?.id, one?.name])),
    );
    const { items } = await store.keys.list(first?.id, { size: 2, after: undefined });
    const [key] = items;
    if (key) await store.keys.revoke(key.id, nowMs, auditEntry());
    expect(await store.keys.names([key?.id ?? '', 'key_0'])).toEqual([
      { id: key?.id, name: key?.name, lastFour: key?.lastFour },
    ]);
    expect(await store.accounts.names([])).toEqual([]);
  });
});
