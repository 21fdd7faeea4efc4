/** Names of accounts and keys by their ids, for filters and tables. */
import { useRef } from 'preact/hooks';
import type { Key } from '../../../gen/parley/management/v1/management_pb.ts';
import { admin, management } from '../api.ts';
import { allKeys } from '../keys/all-keys.ts';
import type { SignedIn } from '../session.ts';
import { useLoaded } from '../states.tsx';

/** Of one call. */
const idsMax = 100;

export type NamesById = ReadonlyMap<string, string>;

const none: NamesById = new Map();

/** The known names of these accounts and keys. Holders see the names of their own keys only. */
export function useNamesOf(session: SignedIn, ids: readonly string[], keys: NamesById = none): NamesById {
  const found = useRef(new Map<string, string>());
  const unknown = [...new Set(ids)].filter((id) => !keys.has(id) && !found.current.has(id)).sort();
  useLoaded(`names ${unknown}`, async (signal) => {
    if (session.kind === 'account') return;
    for (let start = 0; start < unknown.length; start += idsMax) {
      const part = unknown.slice(start, start + idsMax);
      const accountIds = part.filter((id) => id.startsWith('acc_'));
      const keyIds = part.filter((id) => id.startsWith('key_'));
      const names = await admin.listNames({ accountIds, keyIds }, { signal });
      for (const id of part) found.current.set(id, id);
      for (const { id, name } of names.accounts) found.current.set(id, name);
      for (const { id, name, lastFour = '' } of names.keys) found.current.set(id, keyName(name, lastFour));
    }
  });
  return new Map([...keys, ...found.current]);
}

/**
 * Names of the keys of an account. A holder whose key cannot manage keys sees only the name of that key.
 * @param accountId ignored for holders; empty: no keys
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
