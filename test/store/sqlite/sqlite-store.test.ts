import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LedgerEntry } from '../../../src/core/entities/ledger.ts';
import type { Store } from '../../../src/core/entities/store.ts';
import {
  type AccountId,
  type KeyId,
  newAccountId,
  newKeyId,
  newLedgerEntryId,
  newRequestId,
} from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { auditEntry, storedKey } from '../../support/stored-key.ts';
import { recordEnd, recordStart } from '../../support/usage-record.ts';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-store-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

describe('the store of SQLite', () => {
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
    await store.accounts.create({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
    await store.keys.create(storedKey(keyId, accountId), auditEntry());
  });
  afterEach(() => store.close());

  const speech = { operation: 'speech', startedAtMs: 5, characters: 3 } as const;
  const start = () => recordStart({ accountId, keyId }, { ...speech, id: newRequestId(Date.now()) });
  const end = (fairUseUnits: number | undefined) => recordEnd('ok', { audioMsOut: 7.4, fairUseUnits });
  it('debits a request once: the entry has the id of the request', async () => {
    const record = start();
    const reserve = { hold: { amount: nanoCredits(2n), price } };
    await store.ledger.enter(load, auditEntry());
    const lost: unknown[] = [];
    await store.close();
    const observer = { failing: () => undefined, working: () => undefined };
    store = await openStore(dataDir, { observer: { ...observer, lost: (what) => lost.push(what) } });
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
});
