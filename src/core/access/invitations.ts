/** Invitations: links with which people get their first key, and with it their first session of the console. */
import { isSuspended } from '../entities/account.ts';
import { auditEntry } from '../entities/audit.ts';
import { grantedScopes, isInvitation, isLive, type Key, type KeyHolder } from '../entities/key.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import { hashKey, isWellFormedInvitation } from '../values/key-secret.ts';
import { newKey } from './new-key.ts';

/** The new key of a person and its secret, which is shown once. */
export interface Accepted extends KeyHolder {
  readonly secret: string;
}

/**
 * Replaces an invitation by a key, once.
 * @param kinds the kinds of keys that the port serves
 * @throws `invalid_api_key` for one that is unknown, used, expired or revoked; `insufficient_scope`, `account_suspended`
 */
export async function acceptInvitation(
  { store, accessClock }: { readonly store: Pick<Store, 'keys'>; readonly accessClock: Clock },
  authorization = '',
  kinds: readonly Key['kind'][],
): Promise<Accepted> {
  const text = authorization.replace(/^Bearer\s+/i, '').trim();
  const holder = isWellFormedInvitation(text) ? await store.keys.find(hashKey(text)) : undefined;
  const nowMs = accessClock.now();
  if (holder === undefined || !isInvitation(holder.key) || !isLive(holder.key, nowMs))
    throw wrongInvitation();
  const { key: invited, account } = holder;
  if (!kinds.includes(invited.kind)) {
    throw new ParleyError('insufficient_scope', {
      message: 'This port does not serve the invitation. Open its link at the port that it was made for.',
    });
  }
  if (account && isSuspended(account)) throw new ParleyError('account_suspended');
  const { key, secret } = newKey(nowMs, {
    ...invited,
    scopes: grantedScopes(invited),
    expiresAtMs: undefined,
  });
  const change = { action: 'invitation.accept', target: invited.id, details: { key: key.id } };
  const entry = auditEntry(nowMs, { actor: invited.id }, change);
  if (!(await store.keys.rotate(invited.id, { revokedAtMs: nowMs }, key, entry))) throw wrongInvitation();
  return { key, account, secret };
}

function wrongInvitation(): ParleyError {
  return new ParleyError('invalid_api_key', {
    message: 'This invitation is unknown, was used, has expired or was revoked. Ask for a new one.',
  });
}
