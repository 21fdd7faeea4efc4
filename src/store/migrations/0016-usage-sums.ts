import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

const sums = [
  ...['requests', 'characters', 'audio_ms_in', 'audio_ms_out', 'prompt_tokens', 'completion_tokens'],
  ...['cached_tokens', 'cache_write_tokens', 'fair_use_units', 'cost_nano_credits'],
];

/**
 * Sums of ended days (UTC), by account and key, and over all of them. Days are summed up to `usage_sums_end`, except for those in
 * `late_days`. Triggers note a day there when one of its records is written on a later day, or pruned. Days are numbered from 1970.
 */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await createSums(db, types, 'usage_sums', ['account_id', 'key_id']);
  await createSums(db, types, 'usage_day_sums', []);
  await sql`create index usage_sums_by_account on usage_sums (account_id, day)`.execute(db);
  await db.schema
    .createTable('usage_sums_end')
    .addColumn('number', types.integer, (column) => column.notNull())
    .$call(types.plain)
    .execute();
  await sql`insert into usage_sums_end values (0)`.execute(db);
  await db.schema
    .createTable('late_days')
    .addColumn('number', types.integer, (column) => column.notNull())
    // Different for each transaction of PostgreSQL, so that removing visible notes keeps those of running transactions.
    .addColumn('note', types.integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('late_days_key', ['number', 'note'])
    .$call(types.keyed)
    .execute();
  await (types.dialect === 'sqlite' ? noteOnSqlite(db) : noteOnPostgres(db));
}

async function createSums(
  db: Kysely<unknown>,
  types: ColumnTypes,
  name: string,
  owners: readonly string[],
): Promise<void> {
  const words = ['operation', 'model', 'state'];
  let table = db.schema.createTable(name).addColumn('day', types.text, (column) => column.notNull());
  for (const owner of owners) table = table.addColumn(owner, types.id, (column) => column.notNull());
  for (const word of words) table = table.addColumn(word, types.text, (column) => column.notNull());
  for (const sum of sums) table = table.addColumn(sum, types.integer, (column) => column.notNull());
  const key = ['day', ...owners, ...words] as never[];
  await table.addPrimaryKeyConstraint(`${name}_key`, key).$call(types.keyed).execute();
}

async function noteOnSqlite(db: Kysely<unknown>): Promise<void> {
  // The comparison with the end is for a clock that was set back.
  const today = sql`max(unixepoch() / 86400, (select number from usage_sums_end))`;
  for (const [name, event] of [
    ['inserted', sql`insert`],
    ['ended', sql`update of state`],
  ] as const) {
    await sql`create trigger ${sql.ref(`usage_rows_${name}_late`)} after ${event} on usage_rows
      when new.started_at_ms < ${today} * 86400000
      begin insert into late_days values (new.started_at_ms / 86400000, 0) on conflict do nothing; end`.execute(
      db,
    );
  }
  for (const event of ['insert', 'update']) {
    await sql`create trigger ${sql.ref(`usage_rollups_late_at_${event}`)} after ${sql.raw(event)} on usage_rollups
      begin insert into late_days values (unixepoch(new.day) / 86400, 0) on conflict do nothing; end`.execute(
      db,
    );
  }
}

async function noteOnPostgres(db: Kysely<unknown>): Promise<void> {
  await sql`create function parley_note_late() returns trigger language plpgsql as $$
    begin
      insert into late_days values (new.started_at_ms / 86400000, txid_current()) on conflict do nothing;
      return null;
    end $$`.execute(db);
  await sql`create trigger usage_records_late after insert or update of state on usage_records
    for each row when (new.started_at_ms < floor(extract(epoch from now()) / 86400) * 86400000)
    execute function parley_note_late()`.execute(db);
  await sql`create function parley_note_pruned() returns trigger language plpgsql as $$
    begin
      insert into late_days select distinct day::date - date '1970-01-01', txid_current() from changed
        on conflict do nothing;
      return null;
    end $$`.execute(db);
  for (const event of ['insert', 'update']) {
    await sql`create trigger ${sql.ref(`usage_rollups_late_at_${event}`)} after ${sql.raw(event)} on usage_rollups
      referencing new table as changed for each statement execute function parley_note_pruned()`.execute(db);
  }
}
