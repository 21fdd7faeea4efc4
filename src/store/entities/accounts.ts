import { sql } from 'kysely';
import type { Account, AccountFacts, AccountStore } from '../../core/entities/account.ts';
import { limitsFromText, limitsToText } from '../../core/entities/limits.ts';
import type { Period } from '../../core/entities/subscription.ts';
import type { AccountId } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import type { Executor } from '../sql/executor.ts';
import { step } from '../sql/job.ts';
import { pageOf } from '../sql/page-of.ts';
import { type AccountRow, optionalNumber, type SubscriptionKind } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { change } from './audit.ts';

type AccountWithPeriods = AccountRow & {
  trial_starts: bigint | null;
  trial_ends: bigint | null;
  plan_starts: bigint | null;
  plan_ends: bigint | null;
};

type NewPeriod = Period & { readonly accountId: AccountId };

const byId = statement((p: { id: string }) => withPeriods().where('accounts.id', '=', p.id));

export const accountById = byId.map(toAccount);
/** The account without its money. */
export const factsById = byId.map(toFacts);
/** PostgreSQL: the accounts of keys without their money, and their policy versions. */
export const policiesByKeyHashes = statement((p: { hashes: readonly string[] }) =>
  withPeriods().where('accounts.id', 'in', (keys) =>
    keys.selectFrom('api_keys').select('account_id').where(sql<boolean>`hash = any(${p.hashes})`),
  ),
).map((row) => ({ account: toFacts(row), policyVersion: row.policy_version }));
const byName = statement((p: { name: string }) => withPeriods().where('name', '=', p.name)).map(toAccount);
/** A page in the order of the ids. `after` is empty for the first one. */
const accountsAfter = statement((p: { after: string; size: number }) =>
  withPeriods()
    .where('accounts.id', '>', p.after)
    .where('deleted_at_ms', 'is', null)
    .orderBy('accounts.id')
    .limit(p.size),
).map(toAccount);
/** A page of the accounts whose name contains a text, as a pattern of `containing`. */
const accountsNamed = statement((p: { after: string; size: number; pattern: string }) =>
  withPeriods()
    .where('accounts.id', '>', p.after)
    .where('deleted_at_ms', 'is', null)
    .where(sql<boolean>`lower(name) like ${p.pattern} escape '\\'`)
    .orderBy('accounts.id')
    .limit(p.size),
).map(toAccount);
export const balanceOf = statement((p: { id: AccountId }) =>
  query.selectFrom('accounts').select('balance_nano_credits').where('id', '=', p.id),
).map((row) => row.balance_nano_credits);

const insert = statement((p: Pick<Account, 'id' | 'name' | 'createdAtMs'>) =>
  query
    .insertInto('accounts')
    .values({
      id: p.id,
      name: p.name,
      created_at_ms: p.createdAtMs,
      balance_nano_credits: 0,
      held_nano_credits: 0,
    })
    .onConflict((conflict) => conflict.column('name').doNothing()),
);
/** Changes nothing if the name is taken, also by the account itself. */
const rename = statement((p: { id: string; name: string }) =>
  query
    .updateTable('accounts')
    .set({ name: p.name })
    .where('id', '=', p.id)
    .where(({ not, exists }) =>
      not(exists(query.selectFrom('accounts').select('id').where('name', '=', p.name))),
    ),
);
const suspend = statement((p: { id: string; atMs: number | null }) =>
  query.updateTable('accounts').set({ suspended_at_ms: p.atMs }).where('id', '=', p.id),
);
const remove = statement((p: { id: string; name: string; atMs: number }) =>
  query
    .updateTable('accounts')
    .set({ name: p.name, deleted_at_ms: p.atMs, limits: '' })
    .where('id', '=', p.id),
);
const revokeKeys = statement((p: { id: string; atMs: number }) =>
  query
    .updateTable('api_keys')
    .set({ revoked_at_ms: p.atMs })
    .where('account_id', '=', p.id)
    .where('revoked_at_ms', 'is', null),
);
/** Rows that are removed with an account. Its records and its ledger stay. */
const belongings = (['kept_answers', 'alert_settings', 'alert_marks', 'alerts'] as const).map((table) =>
  statement((p: { id: string }) => query.deleteFrom(table).where('account_id', '=', p.id)),
);
const replaceLimits = statement((p: { id: string; limits: string }) =>
  query.updateTable('accounts').set({ limits: p.limits }).where('id', '=', p.id),
);
const insertTrial = statement((p: NewPeriod) =>
  insertPeriod('trial', p).onConflict((conflict) => conflict.doNothing()),
);
const replacePlan = statement((p: NewPeriod) =>
  insertPeriod('plan', p).onConflict((conflict) =>
    conflict
      .columns(['account_id', 'kind'])
      .doUpdateSet({ starts_at_ms: p.startsAtMs, ends_at_ms: p.endsAtMs }),
  ),
);
const endPeriods = statement((p: { accountId: string; atMs: bigint }) =>
  query
    .updateTable('subscriptions')
    .set({ ends_at_ms: p.atMs })
    .where('account_id', '=', p.accountId)
    .where('ends_at_ms', '>', p.atMs),
);

function insertPeriod(kind: SubscriptionKind, { accountId, startsAtMs, endsAtMs }: NewPeriod) {
  const period = { account_id: accountId, kind, starts_at_ms: startsAtMs, ends_at_ms: endsAtMs };
  return query.insertInto('subscriptions').values(period);
}

/** @param withCredits adds the holds in the memory of this process. Default: all holds are in the database */
export function accountStore(
  executor: Executor,
  withCredits: (account: Account) => Account = (account) => account,
): AccountStore {
  return {
    create: (account, audit) => change(executor, audit, [step(insert, account, 'stop')]),

    async find(idOrName) {
      const account =
        (await executor.get(accountById, { id: idOrName })) ??
        (await executor.get(byName, { name: idOrName }));
      return account && withCredits(account);
    },

    list: (page, nameContains) =>
      pageOf(page, async ({ size, after = '' }) => {
        const accounts = await (nameContains === undefined
          ? executor.all(accountsAfter, { after, size })
          : executor.all(accountsNamed, { after, size, pattern: containing(nameContains) }));
        return accounts.map(withCredits);
      }),

    rename: (id, name, audit) => change(executor, audit, [step(rename, { id, name }, 'stop')]),

    async suspend(id, atMs, audit) {
      await change(executor, audit, [step(suspend, { id, atMs: atMs ?? null })]);
    },

    async delete(id, atMs, audit) {
      // The name becomes the id, which is no other account's name.
      const removed = step(remove, { id, name: id, atMs });
      const others = belongings.map((statement) => step(statement, { id }));
      await change(executor, audit, [removed, step(revokeKeys, { id, atMs }), ...others]);
    },

    async setLimits(id, limits, audit) {
      await change(executor, audit, [step(replaceLimits, { id, limits: limitsToText(limits) })]);
    },

    startTrial: (accountId, period, audit) =>
      change(executor, audit, [step(insertTrial, { accountId, ...period }, 'stop')]),

    async setPlan(accountId, period, audit) {
      await change(executor, audit, [step(replacePlan, { accountId, ...period })]);
    },

    async endSubscription(accountId, atMs, audit) {
      await change(executor, audit, [step(endPeriods, { accountId, atMs: BigInt(atMs) })]);
    },
  };
}

/** The LIKE pattern for names that contain a text, ignoring the case of A to Z. */
function containing(text: string): string {
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return `%${lower.replace(/[\\%_]/g, '\\$&')}%`;
}

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

export function toAccount(row: AccountWithPeriods): Account {
  return {
    ...toFacts(row),
    balance: nanoCredits(row.balance_nano_credits),
    held: nanoCredits(row.held_nano_credits),
  };
}

function toFacts(row: AccountWithPeriods): AccountFacts {
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
