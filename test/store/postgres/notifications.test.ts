/** Nodes are notified of changes by others. */
import { afterEach, expect, it, vi } from 'vitest';
import { newAccountId, newKeyId } from '../../../src/core/values/ids.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { newDatabase } from '../../support/postgres/database.ts';
import { auditEntry, storedKey } from '../../support/stored-key.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('a revoked key is read again on another node before its cache entry expires', async () => {
  const database = await newDatabase();
  const [here, there] = [await openPostgresStore(database), await openPostgresStore(database)];
  const [accountId, keyId] = [newAccountId(1), newKeyId(1)];
  const key = storedKey(keyId, accountId);
  await here.accounts.create({ id: accountId, name: 'a', createdAtMs: 1 }, auditEntry());
  await here.keys.create(key, auditEntry());
  // The store listens from its first heartbeat on.
  await Promise.all([here.requests.recover(1), there.requests.recover(1)]);
  // Cached keys never expire.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  const revokedAtMs = async () => (await there.keys.find(key.hash))?.key.revokedAtMs;
  expect(await revokedAtMs()).toBeUndefined();
  await here.keys.revoke(keyId, 7, auditEntry());
  await expect.poll(revokedAtMs).toBe(7);
  vi.restoreAllMocks();
  await Promise.all([here.close(), there.close()]);
  await database.drop();
});
