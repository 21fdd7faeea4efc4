/** Nodes hear of changes that others make. */
import { afterEach, expect, it, vi } from 'vitest';
import { newAccountId, newKeyId } from '../../../src/core/values/ids.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { newDatabase } from '../../support/postgres/database.ts';
import { auditEntry, storedKey } from '../../support/stored-key.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('a revoked key is read anew on another node, before the life of what it keeps ends', async () => {
  const database = await newDatabase();
  const [here, there] = [await openPostgresStore(database), await openPostgresStore(database)];
  const [accountId, keyId] = [newAccountId(1), newKeyId(1)];
  const key = storedKey(keyId, accountId);
  await here.accounts.create({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
  await here.keys.create(key, auditEntry());
  // Listens with its first heartbeat.
  await Promise.all([here.requests.recover(1), there.requests.recover(1)]);
  // Cached keys never grow old.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const revokedAtMs = async () => (await there.keys.find(key.hash))?.key.revokedAtMs;
  expect(await revokedAtMs()).toBeUndefined();
  await here.keys.revoke(keyId, 7, auditEntry());
  await expect.poll(revokedAtMs).toBe(7);
  vi.restoreAllMocks();
  await Promise.all([here.close(), there.close()]);
  await database.drop();
});
