import type { Kysely } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

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
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  let table = db.schema
    .createTable('usage_rollups')
    .addColumn('day', types.text, (column) => column.notNull())
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('operation', types.text, (column) => column.notNull())
    // Empty if the request named none or was refused.
    .addColumn('model', types.text, (column) => column.notNull())
    .addColumn('state', types.text, (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_rollups_key', ['day', 'account_id', 'operation', 'model', 'state']);
  for (const sum of sums) table = table.addColumn(sum, types.integer, (column) => column.notNull());
  await table.$call(types.keyed).execute();
}
