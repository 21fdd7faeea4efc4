/** Tables and triggers that have another form on PostgreSQL. */
import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/** The ledger in the form that SQLite has since the second migration. Debits have no reference: their id is that of the request. */
export async function createPostgresLedger(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('ledger_entries')
    // Without a foreign key, as each writer of an entry has locked the account.
    .addColumn('account_id', types.id, (column) => column.notNull())
    .addColumn('id', types.id, (column) => column.notNull())
    .addColumn('amount_nano_credits', types.integer, (column) => column.notNull())
    .addColumn('created_at_ms', types.integer, (column) => column.notNull())
    .addColumn('kind', types.text, (column) => column.notNull())
    .addColumn('reason', types.text, (column) => column.notNull())
    .addColumn('reference', types.text)
    .addPrimaryKeyConstraint('ledger_entries_key', ['account_id', 'id'])
    .execute();
  await sql`create unique index ledger_entries_once on ledger_entries (account_id, reference)
    where kind <> 'debit'`.execute(db);
  await sql`create function parley_refuse() returns trigger language plpgsql as
    $$ begin raise exception '%', tg_argv[0]; end $$`.execute(db);
  await sql`create trigger ledger_entries_stay before update on ledger_entries
    for each row execute function parley_refuse('ledger entries are never changed')`.execute(db);
  await sql`create trigger ledger_entries_remain before delete on ledger_entries
    for each row execute function parley_refuse('ledger entries are never removed')`.execute(db);
}

/** The channel of `notify` for changed accounts. */
export const policyChannel = 'parley_policy';

/**
 * A version of each account. Each change of its keys, its name or its subscriptions raises it, and admissions compare
 * it. Nodes are notified of the change, and drop the account from their caches.
 */
export async function createPolicyVersions(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .alterTable('accounts')
    .addColumn('policy_version', types.integer, (column) => column.notNull().defaultTo(0))
    .execute();
  await sql`create function parley_policy_changed() returns trigger language plpgsql as $$
    begin
      if new.account_id is not null then
        update accounts set policy_version = policy_version + 1 where id = new.account_id;
        perform pg_notify(${sql.lit(policyChannel)}, new.account_id::text);
      end if;
      return null;
    end $$`.execute(db);
  await sql`create function parley_account_changed() returns trigger language plpgsql as $$
    begin
      new.policy_version := old.policy_version + 1;
      perform pg_notify(${sql.lit(policyChannel)}, new.id::text);
      return new;
    end $$`.execute(db);
  await sql`create trigger key_changed after update on api_keys
    for each row execute function parley_policy_changed()`.execute(db);
  await sql`create trigger account_renamed before update of name on accounts
    for each row execute function parley_account_changed()`.execute(db);
  await sql`create trigger subscription_changed after insert or update on subscriptions
    for each row execute function parley_policy_changed()`.execute(db);
}
