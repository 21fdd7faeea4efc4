/** Names of accounts and keys by their ids, for filters and tables. */
import type { Key } from '../../../gen/parley/admin/v1/admin_pb.ts';
import { admin, management } from '../api.ts';
import { allKeys } from '../keys/all-keys.ts';
import type { SignedIn } from '../session.ts';
import { useLoaded } from '../states.tsx';

/** Accounts of the filter and the tables. More are found by name on the page of accounts. */
const accountsMax = 1_000;

type NamesById = ReadonlyMap<string, string>;

export interface Names {
  readonly accounts: NamesById;
  /** Keys of one account. A holder whose key cannot manage keys sees only the name of that key. */
  readonly keys: NamesById;
}

const none: NamesById = new Map();

/** @param accountId of the filter; ignored for holders */
export function useNames(session: SignedIn, accountId: string): Names {
  const accounts = useLoaded('account names', async (signal) => {
    if (session.kind === 'account') return none;
    const answer = await admin.listAccounts({ pageSize: accountsMax }, { signal });
    return new Map(answer.accounts.map(({ id, name }) => [id, name]));
  });
  return { accounts: accounts.value ?? none, keys: useKeyNames(session, accountId) };
}

/** The names with those of further accounts. */
export function useAccountNames(known: NamesById, ids: readonly string[]): NamesById {
  const missing = [...new Set(ids)].filter((id) => id !== '' && !known.has(id));
  const found = useLoaded(`names of ${missing.join()}`, (signal) =>
    Promise.all(
      missing.map(async (accountId) => {
        const { account } = await admin.getAccount({ accountId }, { signal });
        return [accountId, account?.name ?? accountId] as const;
      }),
    ),
  );
  return new Map([...known, ...(found.value ?? [])]);
}

/**
 * Names of the keys of an account.
 * @param turn reloads when it changes
 */
export function useKeyNames({ kind, key }: SignedIn, accountId: string, turn = 0): NamesById {
  const keys = useLoaded(`key names ${accountId} ${turn}`, async (signal) => {
    if (kind === 'admin') {
      return accountId === ''
        ? none
        : namesOf(await allKeys((page) => admin.listKeys({ accountId, ...page }, { signal })));
    }
    if (!key.scopes.includes('manage')) return new Map([[key.id, keyName(key.name, key.last_four)]]);
    return namesOf(await allKeys((page) => management.listKeys(page, { signal })));
  });
  return keys.value ?? none;
}

const namesOf = (keys: readonly Key[]): NamesById =>
  new Map(keys.map(({ id, name, lastFour }) => [id, keyName(name, lastFour)]));

/** A key and its replacement have the same name. */
const keyName = (name: string, lastFour: string): string => `${name} …${lastFour}`;
