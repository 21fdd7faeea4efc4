import type { AuditEntry } from '../../src/core/entities/audit.ts';
import type { Key } from '../../src/core/entities/key.ts';
import { type AccountId, type KeyId, newAuditId } from '../../src/core/values/ids.ts';

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
