import { type RawBuilder, sql, type Updateable } from 'kysely';
import type {
  Account,
  AccountFilter,
  AccountOrder,
  AccountStore,
  Period,
} from '../../core/entities/account.ts';
import { limitsToText } from '../../core/entities/limits.ts';
import type { AccountId } from '../../core/values/ids.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { idList } from '../sql/dialect.ts';
import { type Executor, pageOf } from '../sql/executor.ts';
import { step } from '../sql/job.ts';
import type { Database, SubscriptionKind } from '../sql/schema.ts';
import { containing, query, statement } from '../sql/statement.ts';
import { lastUse, toAccount, toFacts, toUsedAccount, withLastUse, withPeriods } from './account-rows.ts';
import { change } from './audit.ts';

type NewPeriod = Period & { readonly accountId: AccountId };

const byId = statement((p: { id: string }) => withPeriods().where('accounts.id', '=', p.id));
const usedById = statement((p: { id: string }) => withLastUse().where('id', '=', p.id)).map(toUsedAccount);
const usedByName = statement((p: { name: string }) => withLastUse().where('name', '=', p.name)).map(
  toUsedAccount,
);

const namesByIds = statement((p: { ids: string }, dialect) =>
  query.selectFrom('accounts').select(['id', 'name']).where('id', 'in', dialect.idsOf(p.ids)),
);

export const accountById = byId.map(toAccount);
/** The account without its money. */
export const factsById = byId.map(toFacts);
/** PostgreSQL: the accounts of keys without their money, and their policy versions. */
export const policiesByKeyHashes = statement((p: { hashes: readonly string[] }) =>
  withPeriods().where('accounts.id', 'in', (keys) =>
    keys.selectFrom('api_keys').select('account_id').where(sql<boolean>`hash = any(${p.hashes})`),
  ),
).map((row) => ({ account: toFacts(row), policyVersion: row.policy_version }));
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
const setOf = ({ id }: { readonly id: string }, values: Updateable<Database['accounts']>) =>
  query.updateTable('accounts').set(values).where('id', '=', id);
/** Changes nothing if the name is taken, also by the account itself. */
const rename = statement((p: { id: string; name: string }) =>
  setOf(p, { name: p.name }).where(({ not, exists }) =>
    not(exists(query.selectFrom('accounts').select('id').where('name', '=', p.name))),
  ),
);
const suspend = statement((p: { id: string; atMs: number | null }) => setOf(p, { suspended_at_ms: p.atMs }));
const remove = statement((p: { id: string; name: string; atMs: number }) =>
  setOf(p, { name: p.name, deleted_at_ms: p.atMs, limits: '' }),
);
const revokeKeys = statement((p: { id: string; atMs: number }) =>
  query
    .updateTable('api_keys')
    .set({ revoked_at_ms: p.atMs })
    .where('account_id', '=', p.id)
    .where('revoked_at_ms', 'is', null),
);
/** Rows that are removed with an account. Its records and its ledger stay. */
const belongings = (
  ['kept_answers', 'alert_settings', 'waiting_addresses', 'alert_marks', 'alerts'] as const
).map((table) => statement((p: { id: string }) => query.deleteFrom(table).where('account_id', '=', p.id)));
const replaceLimits = statement((p: { id: string; limits: string }) => setOf(p, { limits: p.limits }));
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
        (await executor.get(usedById, { id: idOrName })) ??
        (await executor.get(usedByName, { name: idOrName }));
      return account && withCredits(account);
    },

    list: (page, filter, order) =>
      pageOf(page, async ({ size, after = '' }) => {
        const place = { isFirst: after === '' ? 'yes' : 'no', after, size } as const;
        const accounts = await executor.all(pages[order], { ...toParameters(filter), ...place });
        return accounts.map(withCredits);
      }),

    async totals(filter) {
      const { accounts = 0n, balance = 0n } = (await executor.get(totals, toParameters(filter))) ?? {};
      return { accounts, balance: nanoCredits(balance) };
    },

    names: (ids) => executor.all(namesByIds, { ids: idList(ids) }),

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

interface Filter {
  /** A pattern of `containing`. */
  readonly pattern: string;
  /** Empty for all states. */
  readonly state: string;
  readonly nowMs: number;
}

/** Each order has a sort key, its direction, and then the id. */
const pages = {
  created: page(sql`accounts.id`, 'asc', (p) => sql`accounts.id > ${p.after}`),
  created_desc: page(sql`accounts.id`, 'desc'),
  name: page(sql`lower(name)`, 'asc'),
  credits: page(sql`balance_nano_credits`, 'desc'),
  last_used: page(sql`coalesce(${lastUse}, 0)`, 'desc'),
} satisfies Record<AccountOrder, unknown>;

interface Place {
  readonly isFirst: 'yes' | 'no';
  /** The id of the last account before the page; empty for the first page. */
  readonly after: string;
  readonly size: number;
}

/** @param isLater whether a row is after the place. Default: compares sort keys; only ids can begin in the middle of an index */
function page(
  by: RawBuilder<unknown>,
  direction: 'asc' | 'desc',
  isLater = (p: Place): RawBuilder<boolean> => {
    const last = sql`select ${by}, id from accounts where id = ${p.after}`;
    return sql`(${p.isFirst} = 'yes' or (${by}, id) ${direction === 'asc' ? sql`>` : sql`<`} (${last}))`;
  },
) {
  return statement((p: Filter & Place) =>
    withLastUse()
      .where(isKept(p))
      .where(isLater(p))
      .orderBy(by, direction)
      .orderBy('id', direction)
      .limit(p.size),
  ).map(toUsedAccount);
}

const totals = statement((p: Filter) =>
  query
    .selectFrom('accounts')
    .select([
      sql<bigint>`count(*)`.as('accounts'),
      sql<bigint>`cast(coalesce(sum(balance_nano_credits), 0) as bigint)`.as('balance'),
    ])
    .where(isKept(p)),
);

function isKept({ pattern, state, nowMs }: Filter) {
  const isOf = (kind: SubscriptionKind) =>
    sql`exists (select 1 from subscriptions where account_id = accounts.id and kind = ${sql.lit(kind)}
      and starts_at_ms <= ${nowMs} and ends_at_ms > ${nowMs})`;
  const hadAny = sql`exists (select 1 from subscriptions where account_id = accounts.id)`;
  return sql<boolean>`deleted_at_ms is null and lower(name) like ${pattern} escape '\\' and case ${state}
    when '' then true
    when 'suspended' then suspended_at_ms is not null
    else ${state} = case when ${isOf('plan')} then 'active' when ${isOf('trial')} then 'trial'
      when ${hadAny} then 'ended' else 'none' end
    end`;
}

function toParameters({ nameContains = '', state, nowMs }: AccountFilter): Filter {
  return { pattern: containing(nameContains), state: state ?? '', nowMs };
}
