import { isInvitation, type Key } from '../entities/key.ts';
import { newKeyId } from '../values/ids.ts';
import { hashKey, invitationPrefix, keyKinds, newKeySecret } from '../values/key-secret.ts';

export type NewKey = Pick<
  Key,
  'kind' | 'accountId' | 'name' | 'scopes' | 'expiresAtMs' | 'limits' | 'person'
>;

/**
 * A key and its secret, which is shown once.
 * @param originId default: the key's own id
 */
export function newKey(createdAtMs: number, facts: NewKey, originId?: Key['originId']) {
  const { kind, accountId, name, scopes, expiresAtMs, limits, person } = facts;
  const secret = newKeySecret(isInvitation(facts) ? invitationPrefix : keyKinds[kind]);
  const id = newKeyId(createdAtMs);
  const key: Key = {
    id,
    originId: originId ?? id,
    kind,
    accountId,
    name,
    hash: hashKey(secret),
    lastFour: secret.slice(-4),
    scopes,
    limits,
    createdAtMs,
    expiresAtMs,
    revokedAtMs: undefined,
    person,
  };
  return { key, secret };
}
