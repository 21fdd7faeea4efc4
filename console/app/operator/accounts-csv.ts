import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Account } from '../../../gen/parley/account/v1/account_pb.ts';
import { exactCredits } from '../credits.ts';
import { csvLine, save } from '../csv.ts';
import { budgetPeriods, endUserPeriods, wholeLimits } from '../limits/limit-names.ts';

type Value = string | number | bigint | undefined;

const time = (at: Timestamp | undefined) => at && timestampDate(at).toISOString();

/** Named as the members of an account in the API. */
const columns: readonly (readonly [name: string, of: (account: Account) => Value])[] = [
  ['id', ({ id }) => id],
  ['name', ({ name }) => name],
  ['created_at', ({ createdAt }) => time(createdAt)],
  ['subscription.state', ({ subscription }) => subscription?.state],
  ['subscription.started_at', ({ subscription }) => time(subscription?.startedAt)],
  ['subscription.ends_at', ({ subscription }) => time(subscription?.endsAt)],
  ['balance', ({ balance }) => balance],
  ['held', ({ heldNanoCredits }) => exactCredits(heldNanoCredits)],
  ['fair_use.used_units', ({ fairUse }) => fairUse?.usedUnits],
  ['fair_use.limit_units', ({ fairUse }) => fairUse?.limitUnits],
  ['suspended_at', ({ suspendedAt }) => time(suspendedAt)],
  ['last_used_at', ({ lastUsedAt }) => time(lastUsedAt)],
  ...wholeLimits.map(
    ([field, name]) => [`limits.${name}`, ({ limits }: Account) => limits?.[field]] as const,
  ),
  ...budgetPeriods.map(
    ([period]) => [`limits.budgets.${period}`, ({ limits }: Account) => limits?.budgets?.[period]] as const,
  ),
  ...endUserPeriods.map(
    ([period]) =>
      [`limits.per_end_user.${period}`, ({ limits }: Account) => limits?.perEndUser?.[period]] as const,
  ),
  ['limits.models', ({ limits }) => limits?.models.join(' ')],
  ['limits.addresses', ({ limits }) => limits?.addresses.join(' ')],
];

export function saveAccounts(accounts: readonly Account[]): void {
  const lines = accounts.map((account) => csvLine(columns.map(([, of]) => String(of(account) ?? ''))));
  save('parley-accounts.csv', 'text/csv', [csvLine(columns.map(([name]) => name)), ...lines]);
}
