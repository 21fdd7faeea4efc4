/** The account that a call is about: administrators name one, and a key has its own. */
import type { Message } from '@bufbuild/protobuf';
import { type Account, isSuspended } from '../entities/account.ts';
import { type AuditEntry, auditEntry } from '../entities/audit.ts';
import { isLive, type Key } from '../entities/key.ts';
import type { Store } from '../entities/store.ts';
import type { Clock } from '../values/clock.ts';
import { ParleyError } from '../values/errors.ts';
import { quote } from '../values/quote.ts';
import type { AnyCall, Caller } from './call.ts';

export interface AccountOfCallDeps {
  readonly store: Pick<Store, 'keys' | 'accounts'>;
  /** The time by which keys end. */
  readonly accessClock: Clock;
}

/** A key of an account may leave it out, or name its own. */
export type AccountRequest = Message & { readonly accountId?: string | undefined };

export interface AccountToChange {
  readonly account: Account;
  /** The calling key; undefined for an administrator. */
  readonly own: Key | undefined;
}

/** For reading, also of a deleted account. @throws `not_found` */
export async function accountToRead(
  { store }: AccountOfCallDeps,
  { accountId }: AccountRequest,
  call: AnyCall,
): Promise<Account> {
  const idOrName = 'caller' in call ? call.caller.account.id : (accountId ?? '');
  const account = await store.accounts.find(idOrName);
  if (account !== undefined) return ofCaller(account, accountId);
  throw new ParleyError('not_found', {
    message: `There is no such account: ${quote(idOrName)}. List the accounts to see their ids and names.`,
    param: 'account_id',
  });
}

/** For a change. @throws `not_found`, also for a deleted account; as `ownKey` */
export async function accountToChange(
  deps: AccountOfCallDeps,
  request: AccountRequest,
  call: AnyCall,
): Promise<AccountToChange> {
  if ('caller' in call) {
    const found = await ownKey(deps, call.caller);
    ofCaller(found.account, request.accountId);
    return found;
  }
  const account = await accountToRead(deps, request, call);
  if (account.deletedAtMs === undefined) return { account, own: undefined };
  throw new ParleyError('not_found', { message: 'The account is deleted.', param: 'account_id' });
}

/**
 * The account, if it is the one that was named. To a key, other accounts are as unknown as those that do not exist.
 * @throws `not_found`
 */
function ofCaller(account: Account, named: string | undefined): Account {
  if (named === undefined || named === account.id || named === account.name) return account;
  throw new ParleyError('not_found', {
    message: `The API key belongs to another account, \`${account.name}\`. Leave out the account, or use an admin key.`,
    param: 'account_id',
  });
}

/**
 * The current state of the calling key: the body may have come long after the gate's decision.
 * @throws `invalid_api_key`; `account_suspended`
 */
export async function ownKey({ store, accessClock }: AccountOfCallDeps, caller: Caller) {
  const [own, account] = [
    await store.keys.findById(caller.keyId),
    await store.accounts.find(caller.account.id),
  ];
  if (own === undefined || account === undefined || !isLive(own, accessClock.now())) {
    throw new ParleyError('invalid_api_key');
  }
  if (isSuspended(account)) throw new ParleyError('account_suspended');
  // The session of a person ends soon, but their rights do not.
  return { account, own: own.person ? { ...own, expiresAtMs: undefined } : own };
}

/** The audit entry of a change, such as `key.create`. Its author is a person, the id of a key, or `cli`. */
export function audit(
  { accessClock }: Pick<AccountOfCallDeps, 'accessClock'>,
  call: AnyCall,
  action: string,
  target: string,
  details: AuditEntry['details'] = {},
): AuditEntry {
  const actor = 'caller' in call ? (call.caller.person ?? call.caller.keyId) : call.actor;
  return auditEntry(accessClock.now(), { actor }, { action, target, details });
}
