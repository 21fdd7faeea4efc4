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

/** Limits of keys and accounts, and what is counted against them; suspended and deleted accounts; the last use of a key. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Limits are JSON; empty for none.
  await sql`alter table accounts add column limits text not null default ''`.execute(db);
  await sql`alter table accounts add column suspended_at_ms integer`.execute(db);
  await sql`alter table accounts add column deleted_at_ms integer`.execute(db);
  await sql`alter table api_keys add column limits text not null default ''`.execute(db);
  // The key before its first rotation; empty for that key itself.
  await sql`alter table api_keys add column origin_id text not null default ''`.execute(db);
  await sql`alter table api_keys add column last_used_at_ms integer`.execute(db);
  await createCounts(db);
  await replaceTriggers(db);
  await addKeysToRollups(db);
}

async function createCounts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('limit_counts')
    // The id of an account or of a key.
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('unit', 'text', (column) => column.notNull())
    // A day, a month or `all`.
    .addColumn('period', 'text', (column) => column.notNull())
    .addColumn('used', 'integer', (column) => column.notNull().check(sql`used >= 0`))
    .addPrimaryKeyConstraint('limit_counts_key', ['owner', 'unit', 'period'])
    .modifyEnd(sql`strict, without rowid`)
    .execute();
}

/** The last use of a key changes often, and no cache depends on it. */
async function replaceTriggers(db: Kysely<unknown>): Promise<void> {
  await sql`drop trigger key_changed`.execute(db);
  await sql`drop trigger account_renamed`.execute(db);
  const changes = {
    key_changed: sql`update of name, scopes, expires_at_ms, revoked_at_ms, limits on api_keys`,
    account_changed: sql`update of name, limits, suspended_at_ms, deleted_at_ms on accounts`,
  };
  for (const [name, change] of Object.entries(changes)) {
    await sql`create trigger ${sql.ref(name)} after ${change}
      begin update policy set version = version + 1; end`.execute(db);
  }
}

/** The rows before know no key. */
async function addKeysToRollups(db: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_rollups rename to usage_rollups_before`.execute(db);
  let table = db.schema
    .createTable('usage_rollups')
    .addColumn('day', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('model', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('usage_rollups_key', [
      'day',
      'account_id',
      'key_id',
      'operation',
      'model',
      'state',
    ]);
  for (const sum of sums) table = table.addColumn(sum, 'integer', (column) => column.notNull());
  await table.modifyEnd(sql`strict, without rowid`).execute();
  const columns = sql.join(sums.map((sum) => sql.ref(sum)));
  await sql`insert into usage_rollups select day, account_id, '', operation, model, state, ${columns}
    from usage_rollups_before`.execute(db);
  await sql`drop table usage_rollups_before`.execute(db);
}
