import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

const sums = [
  ...['requests', 'characters', 'audio_ms_in', 'audio_ms_out', 'prompt_tokens', 'completion_tokens'],
  ...['cached_tokens', 'cache_write_tokens', 'fair_use_units', 'cost_nano_credits'],
];
const key = ['day', 'account_id', 'key_id', 'operation', 'model', 'state'] as const;
const reported = [
  ...['audio_ms_in', 'audio_ms_out', 'prompt_tokens', 'completion_tokens', 'cached_tokens'],
  'cache_write_tokens',
];
const isHuge = reported.map((column) => `${column} >= 1099511627776`).join(' or ');

export const needs = '0020-sums-at-end';

/** One table has the sums of all ended requests, pruned or not. */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  if (types.dialect === 'postgres') await stopNotingOnPostgres(db);
  else await stopNotingOnSqlite(db);
  for (const table of ['usage_sums', 'usage_day_sums', 'usage_sums_end', 'late_days']) {
    await sql`drop table ${sql.table(table)}`.execute(db);
  }
  let table = db.schema
    .createTable('usage_sums')
    .addColumn('day', types.text, (column) => column.notNull())
    .addColumn('account_id', types.id, (column) => column.notNull())
    .addColumn('key_id', types.id, (column) => column.notNull());
  for (const word of ['operation', 'model', 'state'])
    table = table.addColumn(word, types.text, (column) => column.notNull());
  for (const sum of sums)
    table = table.addColumn(sum, types.integer, (column) => column.notNull().defaultTo(0));
  await table
    .addPrimaryKeyConstraint('usage_sums_key', key as never)
    .$call(types.keyed)
    .execute();
  await sql`create index usage_sums_by_account on usage_sums (account_id, day)`.execute(db);
  const records = types.dialect === 'sqlite' ? 'usage_rows' : 'usage_records';
  await sql`create index ${sql.ref(`${records}_huge`)} on ${sql.table(records)} (id) where ${sql.raw(isHuge)}`.execute(
    db,
  );
  await carryOver(db, types);
}

async function carryOver(db: Kysely<unknown>, { dialect }: ColumnTypes): Promise<void> {
  const day =
    dialect === 'sqlite'
      ? `strftime('%Y-%m-%d', started_at_ms / 1000, 'unixepoch')`
      : `to_char(to_timestamp(started_at_ms / 1000) at time zone 'UTC', 'YYYY-MM-DD')`;
  const [columns, keys] = [sums.join(', '), key.join(', ')];
  const amounts = sums.slice(1).map((column) => `coalesce(${column}, 0) as ${column}`);
  await sql
    .raw(`insert into usage_sums (${keys}, ${columns})
    select ${keys}, ${sums.map((column) => `sum(${column})`).join(', ')} from (
      select ${keys}, ${columns} from usage_rollups
      union all
      select ${day} as day, account_id, key_id, operation, case state when 'refused' then '' else coalesce(model, '') end,
        state, 1, ${amounts.join(', ')} from usage_records where state <> 'started' and (${isHuge}) is not true) as ended
    group by ${keys}`)
    .execute(db);
  await sql`drop table usage_rollups`.execute(db);
}

async function stopNotingOnSqlite(db: Kysely<unknown>): Promise<void> {
  for (const trigger of ['usage_rows_inserted_late', 'usage_rows_ended_late']) {
    await sql`drop trigger ${sql.ref(trigger)}`.execute(db);
  }
}

/** Servers of earlier versions would end requests without adding them to the sums. */
async function stopNotingOnPostgres(db: Kysely<unknown>): Promise<void> {
  await sql`do $$ begin
    if exists (select from nodes where not dead and lease_until > clock_timestamp()) then
      raise exception 'A server of an earlier version is running. Stop all servers, then start one of this version.';
    end if; end $$`.execute(db);
  await sql`drop trigger usage_records_late on usage_records`.execute(db);
  for (const event of ['insert', 'update']) {
    await sql`drop trigger ${sql.ref(`usage_rollups_late_at_${event}`)} on usage_rollups`.execute(db);
  }
  await sql`drop function parley_note_late(), parley_note_pruned()`.execute(db);
}
