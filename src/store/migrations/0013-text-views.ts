import { type Kysely, sql } from 'kysely';
import { entryViews, recordViews } from './integer-rows.ts';

/** Views in the place of the tables of usage records and ledger entries, which `carryOver` has copied. For SQLite only. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop table usage_records`.execute(db);
  await sql`drop table ledger_entries`.execute(db);
  for (const view of [...recordViews(), ...entryViews]) await sql.raw(view).execute(db);
}
