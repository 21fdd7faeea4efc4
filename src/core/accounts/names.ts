/** The names of accounts and keys by their ids, which usage records and totals have. */
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { bounds } from '../values/bounds.ts';
import { invalid } from '../values/parameters.ts';
import type { AccountsDeps } from './deps.ts';

export function nameFunctions({ store }: AccountsDeps) {
  return {
    async listNames({ accountIds, keyIds }: pb.ListNamesRequest) {
      checkCount('account_ids', accountIds);
      checkCount('key_ids', keyIds);
      const [accounts, keys] = await Promise.all([
        store.accounts.names(accountIds),
        store.keys.names(keyIds),
      ]);
      return { accounts: [...accounts], keys: [...keys] };
    },
  };
}

/** @throws `invalid_parameter` */
function checkCount(param: string, ids: readonly string[]): void {
  const { maxItems } = bounds.namedIds;
  if (ids.length > maxItems) throw invalid(param, `\`${param}\` takes at most ${maxItems} ids.`);
}
