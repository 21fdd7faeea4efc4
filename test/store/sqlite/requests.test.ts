/** Running requests with reservations in memory: the times of their writes, and the effects of a failed or late write. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Reservation } from '../../../src/core/entities/reservation.ts';
import type { Store } from '../../../src/core/entities/store.ts';
import { newAccountId, newKeyId, newLedgerEntryId, newRequestId } from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import type { Connection } from '../../../src/store/sqlite/database/connection.ts';
import { OpenFiles } from '../../../src/store/sqlite/database/data-folder.ts';
import { openDatabase } from '../../../src/store/sqlite/database/open-database.ts';
import { WriteHealth } from '../../../src/store/sqlite/database/write-health.ts';
import { sqliteStore } from '../../../src/store/sqlite/open-store.ts';
import { BatchRunner } from '../../../src/store/sqlite/writer/batch-runner.ts';
import type { Batch, BatchOutcome } from '../../../src/store/sqlite/writer/messages.ts';
import { type BatchExecutor, Writer } from '../../../src/store/sqlite/writer/writer.ts';
import { readBooks } from '../../support/books.ts';
import { fairUse } from '../../support/reservations.ts';
import { addAccount, auditEntry } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

/** An executor whose batches wait until a test releases them or makes them fail. */
class Gated implements BatchExecutor {
  readonly #batches: BatchRunner;
  #gate = Promise.resolve();
  #open: () => void = () => undefined;
  isFull = false;
  jobs = 0;
  /** Committed batches are acknowledged once it resolves. */
  acknowledges: Promise<void> = Promise.resolve();

  constructor(batches: BatchRunner) {
    this.#batches = batches;
  }

  shut(): void {
    this.#gate = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  open(): void {
    this.#open();
  }

  async run(batch: Batch): Promise<BatchOutcome> {
    this.jobs += batch.groups.flatMap(({ jobs }) => jobs).length;
    await this.#gate;
    if (this.isFull) return { failure: { message: 'database or disk is full', code: 'SQLITE_FULL' } };
    const outcome = this.#batches.run(batch);
    await this.acknowledges;
    return outcome;
  }

  /** The store closes the connection. */
  async close(): Promise<void> {}
}

const accountId = newAccountId(1);
const keyId = newKeyId(1);
const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };
const hold = { amount: nanoCredits(40n), price };
const units = () => store.requests.taken([fairUse(accountId, 0, 0)]);

let dataDir: string;
let connection: Connection;
let gate: Gated;
let health: WriteHealth;
let store: Store;
const troubles: string[] = [];

beforeEach(async () => {
  troubles.length = 0;
  dataDir = mkdtempSync(join(tmpdir(), 'parley-requests-'));
  connection = await openDatabase(dataDir);
  const files = new OpenFiles();
  gate = new Gated(new BatchRunner(connection, files));
  const note = (trouble: string) => void troubles.push(trouble);
  const observer = { failing: note, working: () => note('works'), lost: note };
  health = new WriteHealth({ files, observer, probe: () => writer.run({ steps: [] }) });
  const writer: Writer = new Writer(gate, health);
  store = sqliteStore({ connection, writer, health, close: () => writer.close() });
  await addAccount(store, accountId, [keyId], 100n);
  gate.jobs = 0;
});
afterEach(async () => {
  gate.open();
  await store.close();
  health.close();
  connection.close();
  rmSync(dataDir, { recursive: true });
});

const start = () =>
  recordStart({ accountId, keyId }, { id: newRequestId(Date.now()), startedAtMs: Date.UTC(2026, 10, 5) });
const end = (cost: bigint | undefined, fairUseUnits?: number) =>
  recordEnd(cost === undefined && fairUseUnits === undefined ? 'failed' : 'ok', {
    fairUseUnits,
    cost: cost === undefined ? undefined : nanoCredits(cost),
  });
const funds = async () => {
  const account = await store.accounts.find(accountId);
  return account && [account.balance, account.held];
};
const reserved = async (reservation: Reservation = { hold }) => {
  const record = start();
  expect(await store.requests.reserve(record, reservation)).toMatchObject({ kind: 'reserved' });
  return record.id;
};
const booked = () => readBooks(dataDir);
const states = () => booked().records.map(({ state }) => state);
/** Releases everything that waits. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a request', () => {
  it('that ends soon is written once', async () => {
    const id = await reserved();
    expect(gate.jobs).toBe(0);
    expect(await funds()).toEqual([100n, 40n]);
    await store.requests.settle(id, end(30n));
    expect(gate.jobs).toBe(1);
    expect(await funds()).toEqual([70n, 0n]);
    const { faults, accounts, records } = booked();
    expect(faults).toEqual([]);
    expect(accounts).toEqual([{ name: accountId, balance: 70n, held: 0n }]);
    expect(records).toMatchObject([{ id, state: 'ok', cost: 30n }]);
  });

  it('shows its debit in the balance and in its record at the same time', async () => {
    const id = await reserved({ hold: { ...hold, amount: nanoCredits(60n) } });
    const { promise, resolve } = Promise.withResolvers<void>();
    gate.acknowledges = promise;
    const settled = store.requests.settle(id, end(60n));
    const page = { size: 1, after: undefined };
    const records = async () => (await store.usage.list({}, page)).items.map(({ state }) => state);
    await expect.poll(records).toEqual(['ok']);
    const meanwhile = await funds();
    resolve();
    await settled;
    // The hold is released when the write is acknowledged, and is never shown as more than the balance.
    expect(meanwhile).toEqual([40n, 40n]);
    expect(await funds()).toEqual([40n, 0n]);
  });

  it('that keeps running gets its started record, with its hold', async () => {
    const id = await reserved({ hold, counted: [fairUse(accountId, 6, 9)] });
    await expect.poll(states).toEqual(['started']);
    expect(booked()).toMatchObject({ faults: [], accounts: [{ held: 40n }], units: [] });
    expect(await units()).toEqual([6n]);
    expect(await store.requests.extend(id, [fairUse(accountId, 9, 9)])).toBeUndefined();
    expect(await store.requests.extend(id, [fairUse(accountId, 10, 9)])).toMatchObject({ taken: 0n });
    expect(await units()).toEqual([9n]);
    await store.requests.settle(id, end(40n, 8));
    expect(booked()).toMatchObject({
      faults: [],
      accounts: [{ balance: 60n, held: 0n }],
      units: [{ used: 8 }],
    });
  });

  it('that ends while its started record is being written waits for it', async () => {
    const id = await reserved();
    gate.shut();
    const started = store.requests.started(id);
    await turn();
    const settled = store.requests.settle(id, end(30n));
    await turn();
    expect([gate.jobs, states()]).toEqual([1, []]);
    gate.open();
    await Promise.all([started, settled]);
    expect(booked()).toMatchObject({ faults: [], accounts: [{ balance: 70n, held: 0n }] });
    expect(states()).toEqual(['ok']);
  });

  it('that ends after its started record could not be written is written as a whole', async () => {
    const id = await reserved();
    gate.shut();
    gate.isFull = true;
    const started = expect(store.requests.started(id)).rejects.toMatchObject({ code: 'overloaded' });
    await turn();
    const settled = store.requests.settle(id, end(30n));
    gate.open();
    await started;
    gate.isFull = false;
    await settled;
    expect(booked()).toMatchObject({ faults: [], accounts: [{ balance: 70n, held: 0n }] });
    expect(states()).toEqual(['ok']);
  });

  it('keeps its hold if its end cannot be written, and can be ended again', async () => {
    const id = await reserved();
    gate.isFull = true;
    await expect(store.requests.settle(id, end(70n))).rejects.toMatchObject({ code: 'overloaded' });
    expect(await funds()).toEqual([100n, 40n]);
    expect(booked()).toMatchObject({ accounts: [{ balance: 100n, held: 0n }], records: [] });
    gate.isFull = false;
    expect(await store.requests.settle(id, end(70n))).toMatchObject({ cost: 70n, overrun: undefined });
    expect(await funds()).toEqual([30n, 0n]);
  });

  it('debits a cost above its hold from credits that others do not hold, also while it is being written', async () => {
    const [one, other] = [await reserved(), await reserved()];
    gate.shut();
    const settled = store.requests.settle(one, end(70n));
    await turn();
    expect(await funds()).toEqual([100n, 100n]);
    expect(await store.requests.reserve(start(), { hold: { amount: nanoCredits(1n), price } })).toMatchObject(
      { unit: 'balance' },
    );
    gate.open();
    expect(await settled).toMatchObject({ cost: 60n, overrun: 10n });
    expect(await funds()).toEqual([40n, 40n]);
    await store.requests.settle(other, end(undefined));
    expect(await funds()).toEqual([40n, 0n]);
    expect(booked()).toMatchObject({ faults: [], accounts: [{ balance: 40n, held: 0n }] });
  });

  it('is refused while the database cannot be written, and served as soon as it can', async () => {
    gate.isFull = true;
    const id = await reserved();
    await expect(store.requests.settle(id, end(1n))).rejects.toMatchObject({ code: 'overloaded' });
    await expect(store.requests.reserve(start(), { hold })).rejects.toMatchObject({ code: 'overloaded' });
    gate.isFull = false;
    await store.requests.settle(await reserved(), end(1n));
    expect(troubles).toEqual(['unwritable', 'works']);
  });
});

describe('an adjustment', () => {
  const adjust = (amount: bigint, reference: string) => {
    const entry = { kind: 'adjustment', amount: nanoCredits(amount), reason: 'r', reference } as const;
    return store.ledger.enter({ ...entry, id: newLedgerEntryId(2), accountId, createdAtMs: 1 }, auditEntry());
  };

  it('makes its amount unavailable at once if it takes, and available after its write if it gives', async () => {
    gate.shut();
    const taken = adjust(-70n, 'take');
    await turn();
    expect(await store.requests.reserve(start(), { hold })).toMatchObject({ unit: 'balance' });
    gate.open();
    expect(await taken).toBe('entered');
    expect(await funds()).toEqual([30n, 0n]);
    gate.shut();
    const given = adjust(20n, 'give');
    await turn();
    expect(await store.requests.reserve(start(), { hold })).toMatchObject({ unit: 'balance' });
    gate.open();
    expect(await given).toBe('entered');
    expect(await store.requests.reserve(start(), { hold })).toMatchObject({ kind: 'reserved' });
  });

  it('returns its amount if it cannot be written', async () => {
    gate.isFull = true;
    await expect(adjust(-70n, 'take')).rejects.toMatchObject({ code: 'overloaded' });
    gate.isFull = false;
    expect(await funds()).toEqual([100n, 0n]);
    await reserved();
  });
});

describe('a write that does not end', () => {
  it('counts as failing after ten seconds, until it ends', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      const files = new OpenFiles();
      const note = (trouble: string) => void troubles.push(trouble);
      const observer = { failing: note, working: () => note('works'), lost: note };
      const slow = new WriteHealth({ files, observer, probe: async () => undefined });
      slow.began();
      vi.advanceTimersByTime(9_000);
      expect(slow.isFailing).toBe(false);
      vi.advanceTimersByTime(2_000);
      await expect(slow.assertWritable()).rejects.toMatchObject({ code: 'overloaded' });
      slow.succeeded();
      expect([slow.isFailing, ...troubles]).toEqual([false, 'unwritable', 'works']);
      slow.close();
    } finally {
      vi.useRealTimers();
    }
  });
});
