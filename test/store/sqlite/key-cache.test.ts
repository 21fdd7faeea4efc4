import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../../src/core/entities/store.ts';
import { newAccountId, newKeyId, newLedgerEntryId } from '../../../src/core/values/ids.ts';
import { nanoCredits } from '../../../src/core/values/money.ts';
import type { Reader } from '../../../src/store/sqlite/database/reader.ts';
import { KeyCache } from '../../../src/store/sqlite/key-cache.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { auditEntry, storedKey } from '../../support/stored-key.ts';

const accountId = newAccountId(1);
const period = { startsAtMs: 1, endsAtMs: 100 };
const key = storedKey(newKeyId(1), accountId);

describe('the key cache', () => {
  let dataDir: string;
  let store: Store;
  const holder = () => store.keys.find('hash');
  const subscription = async () => (await holder())?.account?.subscription;

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'parley-holders-'));
    store = await openStore(dataDir);
    await store.accounts.create({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
    await store.keys.create(key, auditEntry());
    await holder();
  });
  afterEach(async () => {
    await store.close();
    rmSync(dataDir, { recursive: true });
  });

  it('answers from memory', async () => {
    expect(await holder()).toBe(await holder());
  });

  it('returns a revoked key as soon as it is revoked', async () => {
    await store.keys.revoke(key.id, 50, auditEntry());
    expect((await holder())?.key.revokedAtMs).toBe(50);
  });

  it('returns both keys as soon as one is rotated, the old one with its expiry', async () => {
    await store.keys.rotate(
      key.id,
      { expiresAtMs: 60 },
      { ...key, id: newKeyId(2), hash: 'new' },
      auditEntry(),
    );
    expect((await holder())?.key.expiresAtMs).toBe(60);
    expect((await store.keys.find('new'))?.account?.id).toBe(accountId);
  });

  it('returns a trial and a plan as soon as they begin, and none as soon as they are ended', async () => {
    expect(await subscription()).toEqual({ trial: undefined, plan: undefined });
    await store.accounts.startTrial(accountId, period, auditEntry());
    expect(await subscription()).toEqual({ trial: period, plan: undefined });
    await store.accounts.setPlan(accountId, period, auditEntry());
    expect(await subscription()).toEqual({ trial: period, plan: period });
    await store.accounts.endSubscription(accountId, 70, auditEntry());
    expect((await subscription())?.plan?.endsAtMs).toBe(70);
  });

  it('notices within a second what another program has written to the database', async () => {
    const other = new Sqlite(join(dataDir, 'parley.db'));
    other.prepare('update api_keys set revoked_at_ms = 80').run();
    other.close();
    await expect.poll(async () => (await holder())?.key.revokedAtMs, { timeout: 5_000 }).toBe(80);
  });

  it('does not take a version that could not be read for known', () => {
    let hasFailed = false;
    const get = () => {
      if (hasFailed) return undefined;
      hasFailed = true;
      throw new Error('the database cannot be read');
    };
    const read = vi.fn(get);
    const cache = new KeyCache({ get: read } as unknown as Reader);
    expect(() => cache.find('hash')).toThrow('the database cannot be read');
    expect(cache.find('hash')).toBeUndefined();
    // The version, once more, and the key.
    expect(read).toHaveBeenCalledTimes(3);
  });

  it('holds no balances', async () => {
    const facts = { accountId, reason: 'r', reference: 'load', createdAtMs: 1 };
    const entry = { ...facts, id: newLedgerEntryId(1), kind: 'load', amount: nanoCredits(5n) } as const;
    await store.ledger.enter(entry, auditEntry());
    expect((await holder())?.account).not.toHaveProperty('balance');
    expect(await store.ledger.available(accountId)).toBe(5n);
  });

  it('finds a new key after it was unknown', async () => {
    expect(await store.keys.find('later')).toBeUndefined();
    await store.keys.create({ ...key, id: newKeyId(2), hash: 'later' }, auditEntry());
    expect((await store.keys.find('later'))?.account?.id).toBe(accountId);
  });
});
