/** Several nodes on one database: they are exact together, and one that stops or dies leaves no holds. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/core/entities/store.ts';
import { newAccountId, newKeyId, newRequestId } from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { readPostgresBooks } from '../../support/postgres/books.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { addAccount } from '../../support/stored-key.ts';
import { recordStart } from '../../support/usage-record.ts';

const program = fileURLToPath(new URL('../../support/postgres/node-process.ts', import.meta.url));
const leaseMs = 600;
const accountId = newAccountId(1);
const keyId = newKeyId(1);
const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };

let database: TestDatabase;
const stores: Store[] = [];
const processes: ChildProcess[] = [];

beforeEach(async () => {
  database = await newDatabase();
  const store = await open();
  await addAccount(store, accountId, [keyId], 100n);
});
afterEach(async () => {
  for (const child of processes.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await database.drop();
});

async function open(): Promise<Store> {
  const store = await openPostgresStore({ url: database.url, leaseMs });
  stores.push(store);
  return store;
}

const start = () =>
  recordStart({ accountId, keyId }, { id: newRequestId(Date.now()), startedAtMs: Date.UTC(2026, 10, 5) });
const books = () => readPostgresBooks(database);
const recordOf = async (id: string) => (await books()).records.find((record) => record.id === id);

/** A node in another process, with a running request. */
async function startNode() {
  const args = [program, database.url, String(leaseMs), accountId, keyId];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  processes.push(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = async () => String((await lines.next()).value);
  return { child, line, requestId: await line(), settle: () => child.stdin.write('settle\n') };
}

describe('nodes', () => {
  it('hold exactly the available credits together, with ten thousand requests at once', async () => {
    const nodes = [await open(), await open(), await open()];
    const reservation = { hold: { amount: nanoCredits(1n), price } };
    // A busy machine may refuse some as `overloaded`.
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10_000 }, (_, n) =>
        nodes[n % nodes.length]?.requests.reserve(start(), reservation),
      ),
    );
    const reserved = outcomes.filter((outcome) => 'value' in outcome && outcome.value?.kind === 'reserved');
    expect(reserved).toHaveLength(100);
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 100n, held: 100n }] });
  });

  it('release the holds of a killed one', async () => {
    const { child, requestId } = await startNode();
    expect(await books()).toMatchObject({ accounts: [{ held: 40n }], units: [{ reserved: 6 }] });
    const [store] = stores;
    await store?.requests.recover(Date.now());
    child.kill('SIGKILL');
    await expect.poll(() => recordOf(requestId)).toMatchObject({ state: 'interrupted', cost: undefined });
    const held = `select reserved_nano_credits from usage_records where state = 'interrupted'`;
    expect(await database.query(held)).toEqual([{ reserved_nano_credits: 40n }]);
    expect(await books()).toMatchObject({
      faults: [],
      accounts: [{ balance: 100n, held: 0n }],
      units: [{ used: 0, reserved: 0 }],
    });
    const claim = { accountId, operation: 'chat', key: 'once', fingerprint: 'f', nowMs: Date.now() } as const;
    const claimed = () =>
      store?.idempotency.claim({ ...claim, requestId: newRequestId(1), forgetBeforeMs: 0 });
    await expect.poll(claimed).toEqual({ kind: 'claimed' });
  });

  it('release the holds of a stopped one, which cannot charge them when it continues', async () => {
    const { child, requestId, settle, line } = await startNode();
    const [store] = stores;
    await store?.requests.recover(Date.now());
    child.kill('SIGSTOP');
    await expect.poll(() => recordOf(requestId)).toMatchObject({ state: 'interrupted' });
    child.kill('SIGCONT');
    settle();
    expect(await line()).toBe('overloaded');
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 100n, held: 0n }] });
  });

  it('release the requests of a node whose row is missing', async () => {
    const { child } = await startNode();
    child.kill('SIGKILL');
    await once(child, 'exit');
    await database.query('delete from nodes');
    const [store] = stores;
    expect(await store?.requests.recover(Date.now())).toBe(1);
    const claims = await database.query('select from kept_answers where answer is null');
    expect(claims).toEqual([]);
    expect(await books()).toMatchObject({ faults: [], accounts: [{ held: 0n }], units: [{ reserved: 0 }] });
  });

  it('end a free chat of a dead node', async () => {
    const [store] = stores;
    const free = { inputPerMillion: nanoCredits(0n), outputPerMillion: nanoCredits(0n) };
    const record = start();
    await store?.requests.reserve(record, { hold: { amount: nanoCredits(0n), price: free } });
    await database.query('update usage_records set node_epoch = 1000000');
    expect(await store?.requests.recover(Date.now())).toBe(1);
    expect(await recordOf(record.id)).toMatchObject({ state: 'interrupted' });
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 100n, held: 0n }] });
  });

  it('are listed with the lateness of each', async () => {
    await database.query(`insert into nodes (name, version, lease_until, dead) values
      ('one:1', '0.1.0', clock_timestamp() + interval '1 minute', false),
      ('two:2', '0.0.9', clock_timestamp() - interval '1 minute', false),
      ('three:3', '0.1.0', clock_timestamp() - interval '1 hour', true)`);
    const [store] = stores;
    const [one, two, three, ...others] = (await store?.nodes.list()) ?? [];
    expect(one).toMatchObject({ name: 'one:1', version: '0.1.0', state: 'alive', lateMs: 0, isOwn: false });
    expect(two).toMatchObject({ name: 'two:2', version: '0.0.9', state: 'late' });
    expect(two?.lateMs).toBeGreaterThanOrEqual(60_000);
    expect(three).toMatchObject({ name: 'three:3', state: 'dead' });
    expect(others).toEqual([]);
  });

  it('do not touch a live one', async () => {
    const { settle, line } = await startNode();
    const [store] = stores;
    await store?.requests.recover(Date.now());
    const [{ lease: first } = {}] = await leases();
    await expect.poll(async () => (await leases())[0]?.lease, { timeout: 10_000 }).not.toBe(first);
    settle();
    expect(await line()).toBe('settled');
    expect(await books()).toMatchObject({ faults: [], accounts: [{ balance: 70n, held: 0n }] });
  });
});

const leases = () =>
  database.query<{ lease: string }>('select lease_until::text as lease from nodes order by epoch');
