/** Accounts with their subscriptions, as rows and as the core knows them. */
import { sql } from 'kysely';
import type { Account, AccountFacts, Period } from '../../core/entities/account.ts';
import { limitsFromText } from '../../core/entities/limits.ts';
import type { AccountId } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { type AccountRow, optionalNumber, type SubscriptionKind } from '../sql/schema.ts';
import { query } from '../sql/statement.ts';

type AccountWithPeriods = AccountRow & {
  trial_starts: bigint | null;
  trial_ends: bigint | null;
  plan_starts: bigint | null;
  plan_ends: bigint | null;
};

/** Uses subqueries, as SQLite prepares a left join again for each run: its plan may depend on the parameters. */
export function withPeriods() {
  return query
    .selectFrom('accounts')
    .selectAll('accounts')
    .select((accounts) => {
      const timeOf = (kind: SubscriptionKind, column: 'starts_at_ms' | 'ends_at_ms') =>
        accounts
          .selectFrom('subscriptions')
          .select(column)
          .whereRef('subscriptions.account_id', '=', 'accounts.id')
          .where('kind', '=', kind);
      return [
        timeOf('trial', 'starts_at_ms').as('trial_starts'),
        timeOf('trial', 'ends_at_ms').as('trial_ends'),
        timeOf('plan', 'starts_at_ms').as('plan_starts'),
        timeOf('plan', 'ends_at_ms').as('plan_ends'),
      ];
    });
}

/** The last use of any key of an account. */
export const lastUse = sql<
  bigint | null
>`(select max(last_used_at_ms) from api_keys where account_id = accounts.id)`;

/** For those who read about accounts; no request needs the last use. */
export const withLastUse = () => withPeriods().select(lastUse.as('last_used_at_ms'));

export function toUsedAccount(row: AccountWithPeriods & { last_used_at_ms: bigint | null }): Account {
  return { ...toAccount(row), lastUsedAtMs: optionalNumber(row.last_used_at_ms) };
}

export function toAccount(row: AccountWithPeriods): Account {
  return {
    ...toFacts(row),
    balance: nanoCredits(row.balance_nano_credits),
    held: nanoCredits(row.held_nano_credits),
  };
}

export function toFacts(row: AccountWithPeriods): AccountFacts {
  return {
    id: row.id as AccountId,
    name: row.name,
    createdAtMs: Number(row.created_at_ms),
    limits: limitsFromText(row.limits),
    suspendedAtMs: optionalNumber(row.suspended_at_ms),
    deletedAtMs: optionalNumber(row.deleted_at_ms),
    subscription: {
      trial: toPeriod(row.trial_starts, row.trial_ends),
      plan: toPeriod(row.plan_starts, row.plan_ends),
    },
  };
}

function toPeriod(startsAtMs: bigint | null, endsAtMs: bigint | null): Period | undefined {
  if (startsAtMs === null || endsAtMs === null) return undefined;
  return { startsAtMs: Number(startsAtMs), endsAtMs: Number(endsAtMs) };
}
