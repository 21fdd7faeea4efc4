import { isSuspended } from '../entities/account.ts';
import { isLive, type Key } from '../entities/key.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import type { Caller } from './call.ts';

export interface OwnKeyDeps {
  readonly store: Pick<Store, 'findKeyById' | 'findAccount'>;
  /** The time by which keys end. */
  readonly accessClock: Clock;
}

/**
 * The calling key as it is now: the body may have come long after the gate was asked.
 * @throws `invalid_api_key`; `account_suspended`
 */
export async function ownKey({ store, accessClock }: OwnKeyDeps, caller: Caller): Promise<Key> {
  const [key, account] = [await store.findKeyById(caller.keyId), await store.findAccount(caller.account.id)];
  if (key === undefined || account === undefined || !isLive(key, accessClock.now())) {
    throw new ParleyError('invalid_api_key');
  }
  if (isSuspended(account)) throw new ParleyError('account_suspended');
  return key;
}
