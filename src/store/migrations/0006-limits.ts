import { type Kysely, sql } from 'kysely';
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

/**
 * Limits of keys and accounts, and the amounts that count against them; suspended and deleted accounts; the last use of
 * a key.
 */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  const { schema } = db;
  // Limits are JSON; empty for none.
  const text = (table: string, column: string) =>
    schema
      .alterTable(table)
      .addColumn(column, 'text', (added) => added.notNull().defaultTo(''))
      .execute();
  const time = (table: string, column: string) =>
    schema.alterTable(table).addColumn(column, types.integer).execute();
  await text('accounts', 'limits');
  await time('accounts', 'suspended_at_ms');
  await time('accounts', 'deleted_at_ms');
  await text('api_keys', 'limits');
  // The key before its first rotation; empty for that key itself.
  await text('api_keys', 'origin_id');
  await time('api_keys', 'last_used_at_ms');
  await createCounts(db, types);
  await replaceTriggers(db, types);
  await addKeysToRollups(db, types);
}

async function createCounts(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  let table = db.schema
    .createTable('limit_counts')
    // The id of an account or of a key.
    .addColumn('owner', types.text, (column) => column.notNull())
    .addColumn('unit', types.text, (column) => column.notNull())
    // A day, a month or `all`.
    .addColumn('period', types.text, (column) => column.notNull())
    .addColumn('used', types.integer, (column) => column.notNull().check(sql`used >= 0`))
    .addPrimaryKeyConstraint('limit_counts_key', ['owner', 'unit', 'period']);
  if (types.dialect === 'postgres') {
    table = table.addColumn('reserved', types.integer, (column) =>
      column.notNull().defaultTo(0).check(sql`reserved >= 0`),
    );
    // JSON. Another node releases these amounts if the node of the request dies.
    await db.schema.alterTable('usage_records').addColumn('counted', 'text').execute();
  }
  await table.$call(types.keyed).execute();
}

/** The last use of a key changes often, and no cache depends on it. */
async function replaceTriggers(db: Kysely<unknown>, { dialect }: ColumnTypes): Promise<void> {
  const ofKeys = sql`update of name, scopes, expires_at_ms, revoked_at_ms, limits on api_keys`;
  const ofAccounts = sql`update of name, limits, suspended_at_ms, deleted_at_ms on accounts`;
  if (dialect === 'postgres') {
    await sql`drop trigger key_changed on api_keys`.execute(db);
    await sql`drop trigger account_renamed on accounts`.execute(db);
    await sql`create trigger key_changed after ${ofKeys}
      for each row execute function parley_policy_changed()`.execute(db);
    await sql`create trigger account_changed before ${ofAccounts}
      for each row execute function parley_account_changed()`.execute(db);
    return;
  }
  await sql`drop trigger key_changed`.execute(db);
  await sql`drop trigger account_renamed`.execute(db);
  for (const [name, change] of Object.entries({ key_changed: ofKeys, account_changed: ofAccounts })) {
    await sql`create trigger ${sql.ref(name)} after ${change}
      begin update policy set version = version + 1; end`.execute(db);
  }
}

/** Earlier rows have no key. */
async function addKeysToRollups(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await sql`alter table usage_rollups rename to usage_rollups_before`.execute(db);
  if (types.dialect === 'postgres') {
    await sql`alter table usage_rollups_before drop constraint usage_rollups_key`.execute(db);
  }
  let table = db.schema
    .createTable('usage_rollups')
    .addColumn('day', types.text, (column) => column.notNull())
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('key_id', types.id, (column) => column.notNull())
    .addColumn('operation', types.text, (column) => column.notNull())
    .addColumn('model', types.text, (column) => column.notNull())
    .addColumn('state', types.text, (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_rollups_key', [
      ...(['day', 'account_id', 'key_id', 'operation', 'model', 'state'] as const),
    ]);
  for (const sum of sums) table = table.addColumn(sum, types.integer, (column) => column.notNull());
  await table.$call(types.keyed).execute();
  const columns = sql.join(sums.map((sum) => sql.ref(sum)));
  const noKey = types.dialect === 'postgres' ? sql`'00000000-0000-0000-0000-000000000000'::uuid` : sql`''`;
  await sql`insert into usage_rollups select day, account_id, ${noKey}, operation, model, state, ${columns}
    from usage_rollups_before`.execute(db);
  await sql`drop table usage_rollups_before`.execute(db);
}
