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

/** What usage records that were pruned came to, day by day of UTC. The day comes first, as it is what sums are read by. */
export async function up(db: Kysely<unknown>): Promise<void> {
  let table = db.schema
    .createTable('usage_rollups')
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('operation', 'text', (column) => column.notNull())
    // Empty where none was named, or where the request was refused.
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_rollups_key', ['day', 'account_id', 'operation', 'model', 'state']);
  for (const sum of sums) table = table.addColumn(sum, 'integer', (column) => column.notNull());
  await table.modifyEnd(sql`strict, without rowid`).execute();
}
