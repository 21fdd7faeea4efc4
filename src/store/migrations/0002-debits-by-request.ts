import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/**
 * The id of a debit is the id of its request, so the primary key prevents a second debit. Debits, which are most of the
 * entries, then need no other index. Earlier debits keep their ids. On PostgreSQL, the first migration does this.
 */
export async function up(db: Kysely<unknown>, { dialect }: ColumnTypes): Promise<void> {
  if (dialect === 'postgres') return;
  await sql`alter table ledger_entries rename to ledger_entries_before`.execute(db);
  await sql`drop trigger ledger_entries_stay`.execute(db);
  await sql`drop trigger ledger_entries_remain`.execute(db);
  await createLedger(db);
  await sql`insert into ledger_entries select account_id, id, kind, amount_nano_credits, reason, reference, created_at_ms
    from ledger_entries_before order by account_id, id`.execute(db);
  await sql`drop table ledger_entries_before`.execute(db);
  await sql`create unique index ledger_entries_once on ledger_entries (account_id, reference)
    where kind <> 'debit'`.execute(db);
  await sql`create trigger ledger_entries_stay before update on ledger_entries
    begin select raise(abort, 'ledger entries are never changed'); end`.execute(db);
  await sql`create trigger ledger_entries_remain before delete on ledger_entries
    begin select raise(abort, 'ledger entries are never removed'); end`.execute(db);
}

async function createLedger(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ledger_entries')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('amount_nano_credits', 'integer', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('reference', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('ledger_entries_key', ['account_id', 'id'])
    .modifyEnd(sql`strict, without rowid`)
    .execute();
}
