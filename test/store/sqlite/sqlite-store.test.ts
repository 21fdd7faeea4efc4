import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nanoCredits } from '../../../src/core/billing/money.ts';
import {
  type AccountId,
  type KeyId,
  newAccountId,
  newKeyId,
  newLedgerEntryId,
  newRequestId,
} from '../../../src/core/ids.ts';
import type { LedgerEntry } from '../../../src/core/ports/ledger.ts';
import type { FairUseReservation } from '../../../src/core/ports/reservations.ts';
import type { Store } from '../../../src/core/ports/store.ts';
import type { RecordEnd, RecordStart } from '../../../src/core/ports/usage.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { auditEntry, storedKey } from '../../support/stored-key.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-store-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

describe('the store', () => {
  let store: Store;
  let accountId: AccountId;
  let keyId: KeyId;
  let load: LedgerEntry;
  const price = { inputPerMillion: nanoCredits(1n), outputPerMillion: nanoCredits(2n) };
  beforeEach(async () => {
    store = await openStore(dataDir);
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
    await store.createAccount({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
    await store.createKey(storedKey(keyId, accountId), auditEntry());
  });
  afterEach(() => store.close());

  const start = (): RecordStart => ({
    id: newRequestId(Date.now()),
    accountId,
    keyId,
    operation: 'speech',
    model: 'm',
    wire: 'rest',
    startedAtMs: 5,
    characters: 3,
  });
  const end = (fairUseUnits: number | undefined): RecordEnd => ({
    state: 'ok',
    httpStatus: 200,
    code: undefined,
    firstOutputMs: 1,
    durationMs: 2,
    audioMsIn: undefined,
    audioMsOut: 7.4,
    tokens: undefined,
    fairUseUnits,
    cost: undefined,
    overrun: undefined,
  });
  const reservation = (units: number, limitUnits: number): FairUseReservation => ({
    month: '2026-11',
    units,
    limitUnits,
  });
  const used = () => store.fairUseUnits(accountId, '2026-11');

  it('reserves for exactly as many of a thousand concurrent requests as the limit allows', async () => {
    const outcomes = await Promise.all(
      Array.from({ length: 1000 }, () => store.reserve(start(), { fairUse: reservation(10, 999) })),
    );
    expect(outcomes.filter((outcome) => outcome === 'reserved').length).toBe(99);
    expect(await used()).toBe(990);
    const records = async () => (await store.listRecords({}, { size: 1000, after: undefined })).items.length;
    await expect.poll(records).toBe(99);
  });

  it('counts the used units and releases the rest', async () => {
    const record = start();
    await store.reserve(record, { fairUse: reservation(100, 100) });
    expect(await store.reserve(start(), { fairUse: reservation(1, 100) })).toBe('fair_use_limit_reached');
    await store.settle(record.id, end(30));
    expect(await used()).toBe(30);
    expect(await store.reserve(start(), { fairUse: reservation(70, 100) })).toBe('reserved');
  });

  it('extends a reservation up to the limit, and not beyond', async () => {
    const record = start();
    await store.reserve(record, { fairUse: reservation(0, 100) });
    expect(await store.extend(record.id, reservation(100, 100))).toBe(true);
    expect(await store.extend(record.id, reservation(101, 100))).toBe(false);
    expect(await used()).toBe(100);
    await store.settle(record.id, end(0));
    expect(await used()).toBe(0);
  });

  it('settles a request once', async () => {
    const record = start();
    await store.reserve(record, {});
    await store.settle(record.id, end(undefined));
    await expect(store.settle(record.id, end(undefined))).rejects.toMatchObject({ code: 'internal_error' });
  });

  it('keeps every fact of a record, and counts months apart', async () => {
    const record = start();
    await store.enter({ ...load, amount: nanoCredits(10n ** 16n) }, auditEntry());
    await store.reserve(record, {
      fairUse: reservation(3, 10),
      hold: { amount: nanoCredits(10n ** 16n), price },
    });
    await store.settle(record.id, { ...end(3), cost: nanoCredits(9_007_199_254_740_993n) });
    const { items } = await store.listRecords({ accountId }, { size: 10, after: undefined });
    expect(items[0]).toEqual({ ...record, ...end(3), audioMsOut: 7, cost: 9_007_199_254_740_993n });
    expect(await store.fairUseUnits(accountId, '2026-12')).toBe(0);
  });

  it('loads credits once for a key, and never changes or removes an entry', async () => {
    expect(await store.enter(load, auditEntry())).toBe('entered');
    expect(await store.enter({ ...load, id: newLedgerEntryId(2) }, auditEntry())).toBe('entered');
    expect(await store.enter({ ...load, amount: nanoCredits(6n) }, auditEntry())).toBe('conflict');
    expect((await store.findAccount('a'))?.balance).toBe(5n);
    const other = new Sqlite(join(dataDir, 'parley.db'));
    expect(() => other.exec('update ledger_entries set amount_nano_credits = 9')).toThrow('never changed');
    expect(() => other.exec('delete from ledger_entries')).toThrow('never removed');
    other.close();
  });

  it('debits a request once: the entry has the id of the request', async () => {
    const record = start();
    const reserve = { hold: { amount: nanoCredits(2n), price } };
    await store.enter(load, auditEntry());
    const lost: unknown[] = [];
    await store.close();
    const observer = { failing: () => undefined, working: () => undefined };
    store = await openStore(dataDir, { observer: { ...observer, lost: (what) => lost.push(what) } });
    const settle = async () => {
      await store.reserve(record, reserve);
      await store.settle(record.id, { ...end(undefined), cost: nanoCredits(2n) });
    };
    await settle();
    const { items } = await store.listEntries(accountId, { size: 1, after: undefined });
    const debit = { id: record.id.replace('req_', 'led_'), reference: record.id, amount: -2n };
    expect(items).toMatchObject([debit]);
    await expect(settle()).rejects.toThrow('UNIQUE');
    expect(lost).toEqual(['The books in memory are not those of the database.']);
    expect((await store.findAccount('a'))?.balance).toBe(3n);
  });

  it('removes expired idempotency records a few at a time, and that of the same key at once', async () => {
    const claim = (key: string, nowMs: number, forgetBeforeMs: number) =>
      store.claimAnswer({
        ...{ accountId, operation: 'chat', key, fingerprint: `${nowMs}`, nowMs, forgetBeforeMs },
        requestId: newRequestId(nowMs),
      });
    for (let n = 1; n <= 50; n++) await claim(`old ${n}`, n, 0);
    const other = new Sqlite(join(dataDir, 'parley.db'));
    const left = other.prepare("select count(*) from kept_answers where key like 'old %'").pluck();
    expect(await claim('old 50', 1_000, 100)).toEqual({ kind: 'claimed' });
    expect(left.get()).toBeGreaterThan(25);
    for (let n = 1; n <= 5; n++) await claim(`new ${n}`, 1_000, 100);
    expect(left.get()).toBe(1);
    other.close();
  });

  it('is unchanged after a restart', async () => {
    await store.close();
    store = await openStore(dataDir);
    expect((await store.findKey('hash'))?.account?.id).toBe(accountId);
    expect(await store.isEmpty()).toBe(false);
  });

  it('refuses a record of a missing account', async () => {
    const record = { ...start(), accountId: newAccountId(2) };
    await store.reserve(record, {});
    await expect(store.recordStarted(record.id)).rejects.toThrow('FOREIGN KEY');
  });
});
