import { sql } from 'kysely';
import type { Period } from '../../core/access/entitlement.ts';
import { type NanoCredits, nanoCredits } from '../../core/billing/money.ts';
import type { AccountId } from '../../core/ids.ts';
import type { Account, AccountFacts } from '../../core/ports/accounts.ts';
import type { PageRequest } from '../../core/ports/page.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import type { AccountRow, SubscriptionKind } from './schema.ts';

type AccountWithPeriods = AccountRow & {
  trial_starts: bigint | null;
  trial_ends: bigint | null;
  plan_starts: bigint | null;
  plan_ends: bigint | null;
};

type NewPeriod = Period & { readonly accountId: AccountId };

function insertPeriod(kind: SubscriptionKind, { accountId, startsAtMs, endsAtMs }: NewPeriod) {
  const period = { account_id: accountId, kind, starts_at_ms: startsAtMs, ends_at_ms: endsAtMs };
  return query.insertInto('subscriptions').values(period);
}

/** Statements on accounts and their subscriptions. Synchronous: they run inside the store's transactions. */
export class Accounts {
  readonly #byId;
  readonly #byName;
  readonly #after;
  readonly #available;
  readonly #insert;
  readonly #startTrial;
  readonly #setPlan;
  readonly #endSubscription;
  readonly #any;

  constructor(connection: Connection) {
    this.#byId = prepare(connection, (p: { id: string }) => withPeriods().where('accounts.id', '=', p.id));
    this.#byName = prepare(connection, (p: { name: string }) => withPeriods().where('name', '=', p.name));
    this.#after = prepare(connection, (p: { after: string; size: number }) =>
      withPeriods().where('accounts.id', '>', p.after).orderBy('accounts.id').limit(p.size),
    );
    this.#available = prepare(connection, (p: { id: string }) =>
      query
        .selectFrom('accounts')
        .select(sql<bigint>`balance_nano_credits - held_nano_credits`.as('amount'))
        .where('id', '=', p.id),
    );
    this.#insert = prepare(connection, (p: Pick<Account, 'id' | 'name' | 'createdAtMs'>) =>
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
    this.#startTrial = prepare(connection, (p: NewPeriod) =>
      insertPeriod('trial', p).onConflict((conflict) => conflict.doNothing()),
    );
    this.#setPlan = prepare(connection, (p: NewPeriod) =>
      insertPeriod('plan', p).onConflict((conflict) =>
        conflict
          .columns(['account_id', 'kind'])
          .doUpdateSet({ starts_at_ms: p.startsAtMs, ends_at_ms: p.endsAtMs }),
      ),
    );
    this.#endSubscription = prepare(connection, (p: { accountId: string; atMs: bigint }) =>
      query
        .updateTable('subscriptions')
        .set({ ends_at_ms: p.atMs })
        .where('account_id', '=', p.accountId)
        .where('ends_at_ms', '>', p.atMs),
    );
    this.#any = prepare(connection, (_: object) => query.selectFrom('accounts').select('id').limit(1));
  }

  byId(id: string): Account | undefined {
    return toAccount(this.#byId.get({ id }));
  }

  /** The account without its money. */
  factsById(id: string): AccountFacts | undefined {
    const row = this.#byId.get({ id });
    return row && toFacts(row);
  }

  /** The balance less the holds; 0 if there is no such account. */
  available(id: string): NanoCredits {
    return nanoCredits(this.#available.get({ id })?.amount ?? 0n);
  }

  byName(name: string): Account | undefined {
    return toAccount(this.#byName.get({ name }));
  }

  list({ size, after = '' }: PageRequest): Account[] {
    return this.#after.all({ after, size }).flatMap((row) => toAccount(row) ?? []);
  }

  insert(account: Pick<Account, 'id' | 'name' | 'createdAtMs'>): boolean {
    return this.#insert.run(account).changes > 0;
  }

  startTrial(accountId: AccountId, period: Period): boolean {
    return this.#startTrial.run({ accountId, ...period }).changes > 0;
  }

  setPlan(accountId: AccountId, period: Period): void {
    this.#setPlan.run({ accountId, ...period });
  }

  endSubscription(accountId: AccountId, atMs: number): void {
    this.#endSubscription.run({ accountId, atMs: BigInt(atMs) });
  }

  hasAny(): boolean {
    return this.#any.get({}) !== undefined;
  }
}

/** Uses subqueries: SQLite prepares a left join again for each run, as its plan may depend on the parameters. */
function withPeriods() {
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

function toAccount(row: AccountWithPeriods | undefined): Account | undefined {
  return (
    row && {
      ...toFacts(row),
      balance: nanoCredits(row.balance_nano_credits),
      held: nanoCredits(row.held_nano_credits),
    }
  );
}

function toFacts(row: AccountWithPeriods): AccountFacts {
  return {
    id: row.id as AccountId,
    name: row.name,
    createdAtMs: Number(row.created_at_ms),
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
