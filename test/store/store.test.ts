/** Every operation, on each database. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordBytes } from '../../src/core/entities/idempotency.ts';
import type { LedgerEntry } from '../../src/core/entities/ledger.ts';
import type { Store } from '../../src/core/entities/store.ts';
import {
  type AccountId,
  type KeyId,
  newAccountId,
  newKeyId,
  newLedgerEntryId,
  newRequestId,
} from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { fairUse } from '../support/reservations.ts';
import { newStoreFolder, type StoreFolder, testsPostgres } from '../support/store-folder.ts';
import { auditEntry, storedKey } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

let folder: StoreFolder;
beforeEach(async () => {
  folder = await newStoreFolder();
});
afterEach(() => folder.remove());

describe('the store', () => {
  let store: Store;
  let accountId: AccountId;
  let keyId: KeyId;
  let load: LedgerEntry;
  const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };
  beforeEach(async () => {
    store = await folder.open();
    accountId = newAccountId(1);
    keyId = newKeyId(1);
    load = {
      id: newLedgerEntryId(1),
      accountId,
      kind: 'load',
      amount: nanoCredits(5n),
      reason: 'r',
      reference: 'k',
      createdAtMs: 1,
    };
    await store.accounts.create({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
    await store.keys.create(storedKey(keyId, accountId), auditEntry());
  });
  afterEach(() => store.close());

  const speech = { operation: 'speech', startedAtMs: 5, characters: 3 } as const;
  const start = () => recordStart({ accountId, keyId }, { ...speech, id: newRequestId(Date.now()) });
  const end = (fairUseUnits: number | undefined) => recordEnd('ok', { audioMsOut: 7.4, fairUseUnits });
  const reservation = (units: number, limit: number) => fairUse(accountId, units, limit);

  it.skipIf(testsPostgres)('debits a request once: the entry has the id of the request', async () => {
    const record = start();
    const reserve = { hold: { amount: nanoCredits(2n), price } };
    await store.ledger.enter(load, auditEntry());
    const lost: unknown[] = [];
    await store.close();
    const observer = { failing: () => undefined, working: () => undefined };
    store = await folder.open({ observer: { ...observer, lost: (what) => lost.push(what) } });
    const settle = async () => {
      await store.requests.reserve(record, reserve);
      await store.requests.settle(record.id, { ...end(undefined), cost: nanoCredits(2n) });
    };
    await settle();
    const { items } = await store.ledger.list(accountId, { size: 1, after: undefined });
    const debit = { id: record.id.replace('req_', 'led_'), reference: record.id, amount: -2n };
    expect(items).toMatchObject([debit]);
    await expect(settle()).rejects.toThrow('UNIQUE');
    expect(lost).toEqual(['The books in memory are not those of the database.']);
    expect((await store.accounts.find('a'))?.balance).toBe(3n);
  });

  it('settles a request once', async () => {
    const record = start();
    await store.requests.reserve(record, {});
    await store.requests.settle(record.id, end(undefined));
    await expect(store.requests.settle(record.id, end(undefined))).rejects.toMatchObject({
      code: 'internal_error',
    });
  });

  it('keeps every fact of a record, and counts months separately', async () => {
    const record = start();
    await store.ledger.enter({ ...load, amount: nanoCredits(10n ** 16n) }, auditEntry());
    await store.requests.reserve(record, {
      counted: [reservation(3, 10)],
      hold: { amount: nanoCredits(10n ** 16n), price },
    });
    await store.requests.settle(record.id, { ...end(3), cost: nanoCredits(9_007_199_254_740_993n) });
    const { items } = await store.usage.list({ accountId }, { size: 10, after: undefined });
    expect(items[0]).toEqual({ ...record, ...end(3), audioMsOut: 7, cost: 9_007_199_254_740_993n });
    expect(await store.requests.taken([{ ...reservation(0, 0), period: '2026-12' }])).toEqual([0n]);
  });

  it('loads credits once per key, and never changes or removes an entry', async () => {
    expect(await store.ledger.enter(load, auditEntry())).toBe('entered');
    expect(await store.ledger.enter({ ...load, id: newLedgerEntryId(2) }, auditEntry())).toBe('entered');
    expect(await store.ledger.enter({ ...load, amount: nanoCredits(6n) }, auditEntry())).toBe('conflict');
    expect((await store.accounts.find('a'))?.balance).toBe(5n);
    const update = folder.execute('update ledger_entries set amount_nano_credits = 9');
    await expect(update).rejects.toThrow('never changed');
    await expect(folder.execute('delete from ledger_entries')).rejects.toThrow('never removed');
  });

  it('removes expired idempotency records a few at a time, and the record of the same key at once', async () => {
    const claim = (key: string, nowMs: number, forgetBeforeMs: number) =>
      store.idempotency.claim({
        accountId,
        operation: 'chat',
        key,
        fingerprint: `${nowMs}`,
        nowMs,
        forgetBeforeMs,
        requestId: newRequestId(nowMs),
      });
    for (let n = 1; n <= 50; n++) await claim(`old ${n}`, n, 0);
    const left = async () => {
      const [row] = await folder.execute("select count(*) as count from kept_answers where key like 'old %'");
      return Number(row?.['count']);
    };
    expect(await claim('old 50', 1_000, 100)).toEqual({ kind: 'claimed' });
    expect(await left()).toBeGreaterThan(25);
    for (let n = 1; n <= 5; n++) await claim(`new ${n}`, 1_000, 100);
    expect(await left()).toBe(1);
  });

  it('removes the oldest answers of an account beyond its bytes, but not claims of running requests', async () => {
    const other = newAccountId(2);
    await store.accounts.create({ id: other, name: 'other', createdAtMs: 1 }, auditEntry());
    const claimOf = (id: AccountId, key: string, nowMs: number) => {
      const facts = { accountId: id, operation: 'chat', key, fingerprint: 'f', nowMs } as const;
      return { ...facts, forgetBeforeMs: 0, requestId: newRequestId(nowMs) };
    };
    const keep = async (id: AccountId, key: string, nowMs: number) => {
      const claim = claimOf(id, key, nowMs);
      await store.idempotency.claim(claim);
      const record = { ...start(), id: newRequestId(nowMs), accountId: id };
      const kept = { ...end(undefined), fairUseUnits: undefined };
      await store.requests.record(record, kept, { claim, answer: new Uint8Array(10_000) });
    };
    await store.idempotency.claim(claimOf(accountId, 'running', 1));
    for (let n = 1; n <= 50; n++) await keep(accountId, `${n}`, n);
    await keep(other, 'theirs', 1);
    const each = 10_000 + recordBytes;
    await store.idempotency.removeOldest(accountId, 1_000_000_000);
    await store.idempotency.removeOldest(accountId, 7 * each + 1);
    const rows = await folder.execute('select key from kept_answers order by created_at_ms, key');
    const left = ['running', 'theirs', '44', '45', '46', '47', '48', '49', '50'];
    expect(rows.map(({ key }) => key)).toEqual(left);
  });

  it('is unchanged after a restart', async () => {
    await store.close();
    store = await folder.open();
    expect((await store.keys.find('hash'))?.account?.id).toBe(accountId);
    expect(await store.isEmpty()).toBe(false);
  });

  it('refuses a record of a missing account', async () => {
    const record = { ...start(), accountId: newAccountId(2) };
    const started = async () => {
      await store.requests.reserve(record, {});
      await store.requests.started(record.id);
    };
    await expect(started()).rejects.toThrow(/FOREIGN KEY|no account/);
  });
});
