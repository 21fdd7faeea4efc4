import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';
import { recordViews } from './integer-rows.ts';

const columns = ['cached_tokens', 'cache_write_tokens'];

/** The parts of prompts that upstreams read from their caches, or wrote to them, in usage records and their sums. */
export async function up(db: Kysely<unknown>, { dialect, integer }: ColumnTypes): Promise<void> {
  const records = dialect === 'sqlite' ? 'usage_rows' : 'usage_records';
  for (const column of columns) {
    await db.schema.alterTable(records).addColumn(column, integer).execute();
    await db.schema
      .alterTable('usage_rollups')
      .addColumn(column, integer, (added) => added.notNull().defaultTo(0))
      .execute();
  }
  if (dialect !== 'sqlite') return;
  await sql`drop view usage_records`.execute(db);
  for (const view of recordViews(columns)) await sql.raw(view).execute(db);
}
