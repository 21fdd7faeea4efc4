/**
 * The account API: one function for each RPC. If keys may call it as well as administrators, one function serves both,
 * and the call says which account it is about.
 */
import { accountFunctions, lifeFunctions } from './accounts.ts';
import { creditFunctions } from './credits.ts';
import type { AccountsDeps } from './deps.ts';
import { adminKeyFunctions, keyFunctions } from './keys.ts';
import { nameFunctions } from './names.ts';
import { planFunctions } from './plans.ts';
import { serverFunctions } from './server.ts';
import { statementFunctions } from './statements.ts';
import { usageFunctions } from './usage.ts';

export function accountsApi(deps: AccountsDeps) {
  return {
    ...accountFunctions(deps),
    ...lifeFunctions(deps),
    ...planFunctions(deps),
    ...keyFunctions(deps),
    ...adminKeyFunctions(deps),
    ...creditFunctions(deps),
    ...statementFunctions(deps),
    ...usageFunctions(deps),
    ...nameFunctions(deps),
    ...serverFunctions(deps),
  };
}
