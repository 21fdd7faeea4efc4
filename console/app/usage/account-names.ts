import { admin } from '../api.ts';
import { useLoaded } from '../states.tsx';
import type { Kind, Total } from './source.ts';

/** Accounts of the filter and the tables. More are found by their name on their own page. */
const accountsMax = 1_000;

/** Names by id, for operators. */
export function useAccountNames(
  kind: Kind,
  totals: readonly Total[] | undefined,
): ReadonlyMap<string, string> {
  const { value } = useLoaded(`names ${totals?.length}`, async (signal) => {
    if (kind === 'account') return new Map<string, string>();
    const { accounts } = await admin.listAccounts({ pageSize: accountsMax }, { signal });
    return new Map(accounts.map(({ id, name }) => [id, name]));
  });
  return value ?? new Map();
}
