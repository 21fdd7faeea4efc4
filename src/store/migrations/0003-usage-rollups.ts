import { type Kysely, sql } from 'kysely';

const sums = [
  'requests',
  'characters',
  'audio_ms_in',
  'audio_ms_out',
  'prompt_tokens',
  'completion_tokens',
  'fair_use_units',
  'cost_nano_credits',
];

/** Sums of pruned usage records by day (UTC). The key starts with the day, because totals are read by day. */
export async function up(db: Kysely<unknown>): Promise<void> {
  let table = db.schema
    .createTable('usage_rollups')
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('operation', 'text', (column) => column.notNull())
    // Empty if the request named none or was refused.
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_rollups_key', ['day', 'account_id', 'operation', 'model', 'state']);
  for (const sum of sums) table = table.addColumn(sum, 'integer', (column) => column.notNull());
  await table.modifyEnd(sql`strict, without rowid`).execute();
}
