import { ParleyError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';
import type { KeyHolder } from '../ports/keys.ts';
import type { Store } from '../ports/store.ts';
import { keyFlaw } from './key-flaws.ts';
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
  const secret = /^Bearer\s+(.*)$/is.exec(authorization ?? '')?.[1]?.trim();
  if (secret === undefined || !isWellFormedKey(secret)) throw refused(authorization, secret);
  const holder = await store.findKey(hashKey(secret));
  if (holder === undefined || !isLive(holder, clock.now())) throw new ParleyError('invalid_api_key');
  return holder;
}

/** Says what is wrong with the header as far as that is plain from it, so it tells nothing about the keys that exist. */
function refused(authorization: string | undefined, secret: string | undefined): ParleyError {
  const advice = { kind: 'send_key' } as const;
  if (secret === undefined && authorization) {
    return new ParleyError('invalid_api_key', {
      message: 'The `Authorization` header has another form than `Bearer` and a key.',
      advice,
    });
  }
  const flaw = secret === undefined ? undefined : keyFlaw(secret);
  return new ParleyError(
    'invalid_api_key',
    flaw === undefined ? {} : { message: `The API key ${flaw}.`, advice },
  );
}

/** A revoked key is refused whatever the clock says. */
function isLive({ key }: KeyHolder, nowMs: number): boolean {
  return key.revokedAtMs === undefined && (key.expiresAtMs ?? Infinity) > nowMs;
}
