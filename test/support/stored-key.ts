import type { AccountId, KeyId } from '../../src/core/ids.ts';
import type { Key } from '../../src/core/ports/keys.ts';

/** A key as a store keeps it: of an account, for chat, whose hash is `hash`, never revoked. */
export function storedKey(id: KeyId, accountId: AccountId, more: Partial<Key> = {}): Key {
  return {
    id,
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
