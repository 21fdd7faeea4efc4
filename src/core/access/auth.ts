import { ParleyError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { KeyHolder } from '../ports/keys.ts';
import type { Store } from '../ports/store.ts';
import { hashKey, isWellFormedKey } from './keys.ts';

/**
 * Finds the holder of a key. Unknown, malformed, revoked and expired keys all get `invalid_api_key`; a malformed key costs no
 * look-up.
 *
 * @param authorization the value of the `Authorization` header: `Bearer <key>`
 */
export async function authenticate(
  store: Store,
  clock: Clock,
  authorization: string | undefined,
): Promise<KeyHolder> {
  const secret = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (secret === undefined || !isWellFormedKey(secret)) throw new ParleyError('invalid_api_key');
  const holder = await store.findKey(hashKey(secret));
  if (holder === undefined || !isLive(holder, clock.now())) throw new ParleyError('invalid_api_key');
  return holder;
}

function isLive({ key }: KeyHolder, nowMs: number): boolean {
  return (key.revokedAtMs ?? Infinity) > nowMs && (key.expiresAtMs ?? Infinity) > nowMs;
}
