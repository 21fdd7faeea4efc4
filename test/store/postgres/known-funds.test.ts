/** Accounts that one node uses alone, whose rows it knows, until another node uses them too. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/core/entities/store.ts';
import { newAccountId, newKeyId, newLedgerEntryId, newRequestId } from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { readPostgresBooks } from '../../support/postgres/books.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { DatabaseProxy } from '../../support/postgres/proxy.ts';
import { addAccount, auditEntry } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

const accountId = newAccountId(1);
const keyId = newKeyId(1);
const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };

let database: TestDatabase;
let proxy: DatabaseProxy;
/** The node that knows the account, behind the proxy, and another one. */
let store: Store;
let other: Store;
/** Groups that read their rows, and groups that knew them. */
const groups = { reading: 0, knowing: 0 };

beforeEach(async () => {
  database = await newDatabase();
  proxy = await DatabaseProxy.open(database.url);
  store = await openPostgresStore({ url: proxy.url, leaseMs: 60_000 });
  other = await openPostgresStore({ url: database.url, leaseMs: 60_000 });
  await addAccount(store, accountId, [keyId]);
  await load(store, 1_000n);
  for (let n = 0; n < 3; n++) await spend(10n);
  Object.assign(groups, { reading: 0, knowing: 0 });
  proxy.onSent = (data) => {
    if (data.includes('lock_accounts')) groups.reading++;
    if (data.includes('lock_known')) groups.knowing++;
  };
});
afterEach(async () => {
  await proxy.restore();
  await Promise.all([store.close(), other.close()]);
  await proxy.close();
  await database.drop();
});

let loads = 0;
async function load(on: Store, amount: bigint): Promise<void> {
  const reference = `load ${++loads}`;
  const entry = { kind: 'load', amount: nanoCredits(amount), reason: 'r', reference } as const;
  await on.ledger.enter({ ...entry, id: newLedgerEntryId(loads), accountId, createdAtMs: 1 }, auditEntry());
}

async function reserve(amount: bigint, on = store) {
  const startedAtMs = Date.UTC(2026, 10, 5);
  const start = recordStart({ accountId, keyId }, { id: newRequestId(Date.now()), startedAtMs });
  const outcome = await on.requests.reserve(start, { hold: { amount: nanoCredits(amount), price } });
  return { id: start.id, outcome };
}

const end = (cost: bigint) => recordEnd('ok', { cost: nanoCredits(cost) });

async function spend(amount: bigint): Promise<void> {
  const { id } = await reserve(amount);
  await store.requests.settle(id, end(amount));
}

const books = () => readPostgresBooks(database);

describe('a node that uses an account alone', () => {
  it('reserves, refuses and settles in one round trip each', async () => {
    const { id } = await reserve(900n);
    expect((await reserve(100n)).outcome).toMatchObject({ kind: 'limit_reached', limit: 970n, taken: 900n });
    expect(await store.requests.settle(id, end(950n))).toMatchObject({ cost: 950n });
    expect(groups).toEqual({ reading: 0, knowing: 3 });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 20n, held: 0n }] });
  });

  it('finds an end whose commit was lost', async () => {
    const { id } = await reserve(40n);
    const lost = proxy.loseCommit();
    const settled = store.requests.settle(id, end(30n));
    await lost;
    expect(await settled).toMatchObject({ state: 'ok', cost: 30n });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 940n, held: 0n }] });
  });

  it('finds an earlier end of a request', async () => {
    const { id } = await reserve(40n);
    const ends = await Promise.all([
      store.requests.settle(id, end(30n)),
      store.requests.settle(id, recordEnd('failed')),
    ]);
    expect(ends).toMatchObject([{ cost: 30n }, { cost: undefined }]);
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 940n, held: 0n }] });
  });
});

describe('when another node uses the account too', () => {
  it('its holds count at once', async () => {
    const held = await reserve(900n, other);
    expect(held.outcome).toMatchObject({ kind: 'reserved' });
    expect((await reserve(100n)).outcome).toMatchObject({ kind: 'limit_reached', limit: 970n, taken: 900n });
    expect(groups).toEqual({ reading: 1, knowing: 1 });
    await other.requests.settle(held.id, end(900n));
    expect((await reserve(100n)).outcome).toMatchObject({ kind: 'limit_reached', limit: 70n, taken: 0n });
    expect(groups).toEqual({ reading: 2, knowing: 1 });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 70n, held: 0n }] });
  });

  it('its loads count at once', async () => {
    await load(other, 500n);
    expect((await reserve(1_400n)).outcome).toMatchObject({ kind: 'reserved' });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 1_470n, held: 1_400n }] });
  });

  it('a changed policy is refused', async () => {
    const policyVersion = (await store.keys.find(keyId))?.policyVersion;
    await database.query('update accounts set policy_version = policy_version + 1');
    const start = recordStart({ accountId, keyId });
    expect(await store.requests.reserve(start, { policyVersion })).toEqual({ kind: 'policy_changed' });
  });

  it('both hold exactly the available credits', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 400 }, async (_, n) => reserve(10n, n % 2 === 0 ? store : other)),
    );
    const reserved = outcomes.filter((one) => 'value' in one && one.value.outcome.kind === 'reserved');
    expect(reserved).toHaveLength(97);
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 970n, held: 970n }] });
  });
});

describe('a node that was marked dead', () => {
  it('reserves nothing on accounts that it knows, whose holds nobody would release', async () => {
    await database.query('update nodes set dead = true');
    await reserve(10n).catch(() => undefined);
    expect(groups.knowing).toBe(1);
    const orphaned = `select 1 from usage_records join nodes on epoch = node_epoch where state = 'started' and dead`;
    expect(await database.query(orphaned)).toEqual([]);
  });

  it('charges nothing for a request that another one has released, and serves the next', async () => {
    const { id } = await reserve(40n);
    await other.requests.recover(Date.now());
    await database.query('update nodes set dead = true where epoch = (select min(epoch) from nodes)');
    expect(await other.requests.recover(Date.now())).toBe(1);
    await expect(store.requests.settle(id, end(30n))).rejects.toMatchObject({ code: 'overloaded' });
    const failed = recordStart({ accountId, keyId });
    await store.requests.record(failed, recordEnd('failed'));
    await spend(10n);
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 960n, held: 0n }] });
  });
});
