/** Whether keys and accounts may be used. */
import type { AccountFacts } from '../ports/accounts.ts';
import type { Key } from '../ports/keys.ts';

/** A revoked key is refused whatever the clock says. */
export function isLive(key: Pick<Key, 'revokedAtMs' | 'expiresAtMs'>, nowMs: number): boolean {
  return key.revokedAtMs === undefined && (key.expiresAtMs ?? Infinity) > nowMs;
}

/** Whether all requests of an account are refused, for a time or for good. */
export function isSuspended(account: Pick<AccountFacts, 'suspendedAtMs' | 'deletedAtMs'>): boolean {
  return account.suspendedAtMs !== undefined || account.deletedAtMs !== undefined;
}
