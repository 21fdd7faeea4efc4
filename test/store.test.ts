import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AccountId,
  type KeyId,
  newAccountId,
  newAuditId,
  newKeyId,
  newLedgerEntryId,
  newRequestId,
} from '../src/core/ids.ts';
import { nanoCredits } from '../src/core/money.ts';
import type {
  AuditEntry,
  FairUseReservation,
  LedgerEntry,
  RecordEnd,
  RecordStart,
  Store,
} from '../src/core/ports/store.ts';
import { DataInUseError, lockDataDir } from '../src/store/data-lock.ts';
import { openDatabase } from '../src/store/database.ts';
import { GroupCommit } from '../src/store/group-commit.ts';
import { openStore } from '../src/store/sqlite-store.ts';

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
  const newAudit = (): AuditEntry => ({
    id: newAuditId(1),
    createdAtMs: 1,
    actor: 'cli',
    action: 'test',
    target: 'a',
    details: {},
  });
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
    await store.createAccount({ id: accountId, name: 'a', createdAtMs: 1 }, newAudit());
    await store.createKey(
      {
        id: keyId,
        accountId,
        kind: 'account',
        name: 'k',
        hash: 'hash',
        lastFour: 'abcd',
        scopes: ['chat'],
        createdAtMs: 1,
        expiresAtMs: undefined,
        revokedAtMs: undefined,
      },
      newAudit(),
    );
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

  it('admits exactly as many of a thousand concurrent requests as the limit allows', async () => {
    const admitted = await Promise.all(
      Array.from({ length: 1000 }, () => store.admit(start(), { fairUse: reservation(10, 999) })),
    );
    expect(admitted.filter((outcome) => outcome === 'admitted').length).toBe(99);
    expect(await used()).toBe(990);
    const { items } = await store.listRecords({}, { size: 1000, after: undefined });
    expect(items.length).toBe(99);
  });

  it('spends what was used and gives the rest back', async () => {
    const record = start();
    await store.admit(record, { fairUse: reservation(100, 100) });
    expect(await store.admit(start(), { fairUse: reservation(1, 100) })).toBe('fair_use_limit_reached');
    await store.finish(record.id, end(30));
    expect(await used()).toBe(30);
    expect(await store.admit(start(), { fairUse: reservation(70, 100) })).toBe('admitted');
  });

  it('raises what a request has set aside up to the limit, and not over it', async () => {
    const record = start();
    await store.admit(record, { fairUse: reservation(0, 100) });
    expect(await store.extend(record.id, reservation(100, 100))).toBe(true);
    expect(await store.extend(record.id, reservation(101, 100))).toBe(false);
    expect(await used()).toBe(100);
    await store.finish(record.id, end(0));
    expect(await used()).toBe(0);
  });

  it('ends a request once', async () => {
    const record = start();
    await store.admit(record, {});
    await store.finish(record.id, end(undefined));
    await expect(store.finish(record.id, end(undefined))).rejects.toMatchObject({ code: 'internal_error' });
  });

  it('keeps every fact of a record, and counts months apart', async () => {
    const record = start();
    await store.enter({ ...load, amount: nanoCredits(10n ** 16n) }, newAudit());
    await store.admit(record, {
      fairUse: reservation(3, 10),
      hold: { amount: nanoCredits(10n ** 16n), price },
    });
    await store.finish(record.id, { ...end(3), cost: nanoCredits(9_007_199_254_740_993n) });
    const { items } = await store.listRecords({ accountId }, { size: 10, after: undefined });
    expect(items[0]).toEqual({ ...record, ...end(3), audioMsOut: 7, cost: 9_007_199_254_740_993n });
    expect(await store.fairUseUnits(accountId, '2026-12')).toBe(0);
  });

  it('loads credits once for a key, and never changes or removes an entry', async () => {
    expect(await store.enter(load, newAudit())).toBe('entered');
    expect(await store.enter({ ...load, id: newLedgerEntryId(2) }, newAudit())).toBe('entered');
    expect(await store.enter({ ...load, amount: nanoCredits(6n) }, newAudit())).toBe('conflict');
    expect((await store.findAccount('a'))?.balance).toBe(5n);
    const other = new Sqlite(join(dataDir, 'parley.db'));
    expect(() => other.exec('update ledger_entries set amount_nano_credits = 9')).toThrow('never changed');
    expect(() => other.exec('delete from ledger_entries')).toThrow('never removed');
    other.close();
  });

  it('is found again as it was after a restart', async () => {
    await store.close();
    store = await openStore(dataDir);
    expect((await store.findKey('hash'))?.account?.id).toBe(accountId);
    expect(await store.isEmpty()).toBe(false);
  });

  it('refuses a record of an account that there is not', async () => {
    await expect(store.admit({ ...start(), accountId: newAccountId(2) }, {})).rejects.toThrow();
  });
});

describe('group commit', () => {
  it('keeps the writes of a group apart: one that fails takes no other with it', async () => {
    const connection = await openDatabase(dataDir);
    connection.exec('create table t (a integer primary key)');
    const insert = connection.prepare('insert into t values (?)');
    const writes = new GroupCommit(connection);
    const results = await Promise.allSettled([
      writes.run(() => insert.run(1)),
      writes.run(() => {
        insert.run(2);
        throw new Error('no');
      }),
      writes.run(() => insert.run(1)),
      writes.run(() => insert.run(3)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
    expect(connection.prepare('select a from t').pluck().all()).toEqual([1n, 3n]);
    connection.close();
  });

  it('tells of success only after the commit', async () => {
    const connection = await openDatabase(dataDir);
    connection.exec('create table t (a integer primary key)');
    const other = new Sqlite(join(dataDir, 'parley.db'));
    const writes = new GroupCommit(connection);
    await writes.run(() => connection.exec('insert into t values (1)'));
    expect(other.prepare('select count(*) from t').pluck().get()).toBe(1);
    other.close();
    connection.close();
  });

  it('rejects the whole group where the commit fails, and works again once it can', async () => {
    const connection = await openDatabase(dataDir);
    connection.exec('create table t (a integer primary key)');
    connection.pragma('busy_timeout = 50');
    const other = new Sqlite(join(dataDir, 'parley.db'));
    const writes = new GroupCommit(connection);
    other.exec('begin immediate');
    await expect(writes.run(() => connection.exec('insert into t values (1)'))).rejects.toThrow('locked');
    other.exec('rollback');
    await writes.run(() => connection.exec('insert into t values (1)'));
    other.close();
    connection.close();
  });
});

describe('the lock of a data folder', () => {
  it('is one process’s at a time, and free again after', () => {
    const lock = lockDataDir(dataDir);
    expect(() => lockDataDir(dataDir)).toThrow(DataInUseError);
    lock.release();
    lockDataDir(dataDir).release();
  });
});
