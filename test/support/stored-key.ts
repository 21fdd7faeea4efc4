import type { AuditEntry } from '../../src/core/entities/audit.ts';
import type { Key } from '../../src/core/entities/key.ts';
import type { Store } from '../../src/core/entities/store.ts';
import { type AccountId, type KeyId, newAuditId, newLedgerEntryId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';

/** A key in the form of a store: of an account, for chat, with the hash `hash`, not revoked. */
export function storedKey(id: KeyId, accountId: AccountId | undefined, more: Partial<Key> = {}): Key {
  return {
    id,
    originId: id,
    accountId,
    kind: 'account',
    name: 'k',
    hash: 'hash',
    lastFour: 'abcd',
    scopes: ['chat'],
    createdAtMs: 1,
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    ...more,
  };
}

/** An audit entry for any change. */
export function auditEntry(): AuditEntry {
  return { id: newAuditId(1), createdAtMs: 1, actor: 'cli', action: 'test', target: 'a', details: {} };
}

/** Writes an account and its keys, whose hashes are their ids, to a store, with credits if it has any. */
export async function addAccount(
  store: Store,
  accountId: AccountId,
  keyIds: readonly KeyId[],
  credits = 0n,
): Promise<void> {
  await store.accounts.create({ id: accountId, name: accountId, createdAtMs: 1 }, auditEntry());
  for (const id of keyIds) await store.keys.create(storedKey(id, accountId, { hash: id }), auditEntry());
  if (credits === 0n) return;
  const load = { kind: 'load', amount: nanoCredits(credits), reason: 'r', reference: 'k' } as const;
  await store.ledger.enter({ ...load, id: newLedgerEntryId(1), accountId, createdAtMs: 1 }, auditEntry());
}
