/** Pages of accounts in several orders, and the sum of what a filter keeps. */
import { type RawBuilder, sql } from 'kysely';
import type { Account, AccountFilter, AccountOrder, AccountStore } from '../../core/entities/account.ts';
import { nanoCredits } from '../../core/values/money.ts';
import type { Executor } from '../sql/executor.ts';
import { pageOf } from '../sql/page-of.ts';
import type { SubscriptionKind } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { lastUse, toUsedAccount, withLastUse } from './account-rows.ts';

interface Filter {
  /** A pattern of `containing`. */
  readonly pattern: string;
  /** Empty for all states. */
  readonly state: string;
  readonly nowMs: number;
}

/** Each order has a sort key, its direction, and then the id. */
const orders: Record<AccountOrder, { readonly by: RawBuilder<unknown>; readonly direction: 'asc' | 'desc' }> =
  {
    created: { by: sql`accounts.id`, direction: 'asc' },
    created_desc: { by: sql`accounts.id`, direction: 'desc' },
    name: { by: sql`lower(name)`, direction: 'asc' },
    credits: { by: sql`balance_nano_credits`, direction: 'desc' },
    last_used: { by: sql`coalesce(${lastUse}, 0)`, direction: 'desc' },
  };

const pages = {
  created: page('created'),
  created_desc: page('created_desc'),
  name: page('name'),
  credits: page('credits'),
  last_used: page('last_used'),
} satisfies Record<AccountOrder, unknown>;

interface Place {
  readonly isFirst: 'yes' | 'no';
  /** The id of the last account before the page; empty for the first page. */
  readonly after: string;
  readonly size: number;
}

function page(order: AccountOrder) {
  const { by, direction } = orders[order];
  const isLater = direction === 'asc' ? sql`>` : sql`<`;
  return statement((p: Filter & Place) => {
    const last = sql`select ${by}, id from accounts where id = ${p.after}`;
    // Only the order of the ids can begin in the middle of an index.
    const isWithin =
      order === 'created'
        ? sql<boolean>`accounts.id > ${p.after}`
        : sql<boolean>`(${p.isFirst} = 'yes' or (${by}, id) ${isLater} (${last}))`;
    return withLastUse()
      .where(isKept(p))
      .where(isWithin)
      .orderBy(by, direction)
      .orderBy('id', direction)
      .limit(p.size);
  }).map(toUsedAccount);
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

/** @param withCredits adds the holds in the memory of this process */
export function accountLists(
  executor: Executor,
  withCredits: (account: Account) => Account,
): Pick<AccountStore, 'list' | 'totals'> {
  return {
    list: (page, filter, order) =>
      pageOf(page, async ({ size, after = '' }) => {
        const parameters = {
          ...toParameters(filter),
          isFirst: after === '' ? 'yes' : 'no',
          after,
          size,
        } as const;
        const accounts = await executor.all(pages[order], parameters);
        return accounts.map(withCredits);
      }),

    async totals(filter) {
      const { accounts = 0n, balance = 0n } = (await executor.get(totals, toParameters(filter))) ?? {};
      return { accounts, balance: nanoCredits(balance) };
    },
  };
}

function toParameters({ nameContains = '', state, nowMs }: AccountFilter): Filter {
  return { pattern: containing(nameContains), state: state ?? '', nowMs };
}

/** The LIKE pattern for names that contain a text, ignoring the case of A to Z. */
function containing(text: string): string {
  const lower = text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return `%${lower.replace(/[\\%_]/g, '\\$&')}%`;
}
