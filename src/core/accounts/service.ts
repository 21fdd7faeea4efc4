/**
 * The account API: one function for each RPC. If keys may call it as well as administrators, one function serves both,
 * and the call says which account it is about.
 */
import type * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { bounds } from '../values/bounds.ts';
import { invalid } from '../values/parameters.ts';
import { accountFunctions, lifeFunctions, planFunctions } from './accounts.ts';
import { configurationFunctions } from './configuration.ts';
import { creditFunctions, statementFunctions } from './credits.ts';
import type { AccountsDeps } from './deps.ts';
import { invitationFunctions } from './invitations.ts';
import { adminKeyFunctions, keyFunctions } from './keys.ts';
import { serverFunctions } from './server.ts';
import { usageFunctions } from './usage.ts';

export function accountsApi(deps: AccountsDeps) {
  return {
    ...accountFunctions(deps),
    ...lifeFunctions(deps),
    ...planFunctions(deps),
    ...keyFunctions(deps),
    ...adminKeyFunctions(deps),
    ...invitationFunctions(deps),
    ...creditFunctions(deps),
    ...statementFunctions(deps),
    ...usageFunctions(deps),
    ...nameFunctions(deps),
    ...serverFunctions(deps),
    ...configurationFunctions(deps),
  };
}

/** The names of accounts and keys by their ids, which usage records and totals have. */
function nameFunctions({ store }: AccountsDeps) {
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
