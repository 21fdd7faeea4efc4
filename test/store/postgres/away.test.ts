/** A database that is unreachable, does not answer, or answers too late. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/core/entities/store.ts';
import type { RecordEnd } from '../../../src/core/entities/usage.ts';
import { newAccountId, newKeyId, newLedgerEntryId, newRequestId } from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { readPostgresBooks } from '../../support/postgres/books.ts';
import { withClient } from '../../support/postgres/client.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { DatabaseProxy } from '../../support/postgres/proxy.ts';
import { addAccount, auditEntry } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

const accountId = newAccountId(1);
const keyId = newKeyId(1);
const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };
const hold = { amount: nanoCredits(40n), price };
const overloaded = { code: 'overloaded', retryAfterSeconds: 2 };

let database: TestDatabase;
let proxy: DatabaseProxy;
let store: Store;
const told: string[] = [];

function open(leaseMs: number): Promise<Store> {
  const note = (trouble: string) => void told.push(trouble);
  const observer = { failing: note, working: () => note('works'), lost: note };
  return openPostgresStore({ url: proxy.url, observer, leaseMs });
}

beforeEach(async () => {
  told.length = 0;
  database = await newDatabase();
  proxy = await DatabaseProxy.open(database.url);
  store = await open(600);
  await addAccount(store, accountId, [keyId], 100n);
  await store.requests.recover(Date.now());
});
afterEach(async () => {
  await proxy.restore();
  await store.close();
  await proxy.close();
  await database.drop();
});

const start = () =>
  recordStart({ accountId, keyId }, { id: newRequestId(Date.now()), startedAtMs: Date.UTC(2026, 10, 5) });
const end = (state: RecordEnd['state'], cost?: bigint) =>
  recordEnd(state, { cost: cost === undefined ? undefined : nanoCredits(cost) });
const books = () => readPostgresBooks(database);
const reserved = async () => {
  const record = start();
  expect(await store.requests.reserve(record, { hold })).toMatchObject({ kind: 'reserved' });
  return record.id;
};

describe('while the database is unreachable', () => {
  it('requests are refused after two seconds, and are served as soon as it is back', async () => {
    const id = await reserved();
    await proxy.refuse();
    await expect(store.requests.reserve(start(), { hold })).rejects.toMatchObject(overloaded);
    await expect(store.keys.find(keyId)).rejects.toMatchObject(overloaded);
    await expect(store.requests.settle(id, end('ok', 30n))).rejects.toMatchObject(overloaded);
    expect(told).toEqual(['unreachable']);
    await proxy.restore();
    expect(await store.requests.settle(id, end('ok', 30n))).toMatchObject({ cost: 30n });
    await expect.poll(() => told).toEqual(['unreachable', 'works']);
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 70n, held: 0n }] });
  });

  it('a short outage is not noticed', async () => {
    await proxy.refuse();
    const outcome = store.requests.reserve(start(), { hold });
    await new Promise((resolve) => setImmediate(resolve));
    await proxy.restore();
    expect(await outcome).toEqual({ kind: 'reserved' });
  });
});

describe('a database that does not answer', () => {
  it('leaves no hold of a request that was refused meanwhile', async () => {
    const record = start();
    await reserved();
    proxy.hang();
    await expect(store.requests.reserve(record, { hold })).rejects.toMatchObject(overloaded);
    const recorded = store.requests.record(record, end('refused'));
    await proxy.refuse();
    await proxy.restore();
    await recorded;
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 100n, held: 40n }] });
  });
});

describe('a server whose event loop was blocked for longer than the database may take', () => {
  it('serves the requests that waited', async () => {
    await store.close();
    // A heartbeat that is under way may take a lease.
    store = await open(60_000);
    await reserved();
    const record = start();
    const outcomes = Promise.all([store.requests.reserve(record, { hold }), store.keys.find(keyId)]);
    // The requests are sent at the end of this turn.
    await new Promise((resolve) => setImmediate(resolve));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    expect(await outcomes).toMatchObject([{ kind: 'reserved' }, { account: { name: accountId } }]);
    expect(told).toEqual([]);
  });
});

describe('a commit whose answer is lost', () => {
  it('of an end is found, and charged once', async () => {
    const id = await reserved();
    const lost = proxy.loseCommit();
    const settled = store.requests.settle(id, end('ok', 30n));
    await lost;
    expect(await settled).toMatchObject({ state: 'ok', cost: 30n });
    const { faults, accounts, entries } = await books();
    expect(faults).toEqual([]);
    expect(accounts).toMatchObject([{ balance: 70n, held: 0n }]);
    expect(entries.filter(({ kind }) => kind === 'debit')).toHaveLength(1);
  });

  it('of an admission is found, and holds once', async () => {
    const record = start();
    const lost = proxy.loseCommit();
    const outcome = store.requests.reserve(record, { hold });
    await lost;
    expect(await outcome).toEqual({ kind: 'reserved' });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 100n, held: 40n }] });
    await store.requests.settle(record.id, end('ok', 10n));
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 90n, held: 0n }] });
  });

  it('of a raised count is found, and counts once', async () => {
    const seconds = (amount: bigint) => ({
      ...({ owner: accountId, unit: 'audio_seconds', period: '2026-11-05', amount, limit: 10n } as const),
    });
    const record = start();
    await store.requests.reserve(record, { counted: [seconds(0n)] });
    const lost = proxy.loseCommit();
    const raised = store.requests.extend(record.id, [seconds(4n)]);
    await lost;
    expect(await raised).toBeUndefined();
    expect(await store.requests.taken([seconds(0n)])).toEqual([4n]);
    await store.requests.settle(record.id, { ...end('failed'), audioMsIn: undefined });
    expect(await store.requests.taken([seconds(0n)])).toEqual([0n]);
  });

  it('of a load is found, and enters once', async () => {
    const lost = proxy.loseCommit();
    const entry = { kind: 'load', amount: nanoCredits(5n), reason: 'r', reference: 'other' } as const;
    const entered = store.ledger.enter(
      { ...entry, id: newLedgerEntryId(2), accountId, createdAtMs: 2 },
      auditEntry(),
    );
    await lost;
    expect(await entered).toBe('entered');
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 105n, held: 0n }] });
  });
});

describe('by an operation that repeats a written one', () => {
  it('a record is found, beside other requests', async () => {
    const record = start();
    await store.requests.record(record, end('refused'));
    const again = store.requests.record(record, end('refused'));
    const other = store.requests.reserve(start(), { hold });
    expect(await Promise.all([again, other])).toEqual([undefined, { kind: 'reserved' }]);
    const { faults, records } = await books();
    expect(faults).toEqual([]);
    expect(records.map(({ state }) => state).sort()).toEqual(['refused', 'started']);
  });

  it('an admission is found, and holds once', async () => {
    const record = start();
    await store.requests.reserve(record, { hold });
    expect(await store.requests.reserve(record, { hold })).toEqual({ kind: 'reserved' });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 100n, held: 40n }] });
    await store.requests.settle(record.id, end('ok', 10n));
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 90n, held: 0n }] });
  });
});

describe('a commit with the answer of another command', () => {
  it('of an admission is found, and holds once', async () => {
    const record = start();
    proxy.maskCommit();
    expect(await store.requests.reserve(record, { hold })).toEqual({ kind: 'reserved' });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 100n, held: 40n }] });
  });

  it('of an end is found, and charged once', async () => {
    const id = await reserved();
    proxy.maskCommit();
    expect(await store.requests.settle(id, end('ok', 30n))).toMatchObject({ state: 'ok', cost: 30n });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 70n, held: 0n }] });
  });
});

describe('a commit that takes effect while its operation is repeated', () => {
  const lock = 7;
  /** The commit of a new record waits for the lock. */
  const holdCommits = `
    create function hold_commit() returns trigger language plpgsql set lock_timeout = 0 as
      $$ begin perform pg_advisory_xact_lock_shared(${lock}); return null; end $$;
    create constraint trigger held_commit after insert on usage_records deferrable initially deferred
      for each row execute function hold_commit()`;
  const waitsFor = async (what: 'advisory' | 'transactionid') => {
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event = '${what}'`;
    await expect.poll(() => database.query(waiting)).toHaveLength(1);
  };

  it('is found, and recorded once', async () => {
    await database.query(holdCommits);
    await withClient(database.url, async (other) => {
      await other.query(`select pg_advisory_lock(${lock})`);
      const recorded = store.requests.record(start(), end('refused'));
      await waitsFor('advisory');
      await proxy.refuse();
      await proxy.restore();
      // The second insert of the record waits for the end of the first transaction.
      await waitsFor('transactionid');
      await other.query(`select pg_advisory_unlock(${lock})`);
      await recorded;
    });
    expect(await books()).toMatchObject({ faults: [], records: [{ state: 'refused' }] });
  });
});
