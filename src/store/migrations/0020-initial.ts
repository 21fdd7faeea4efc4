/** The schema, or the step to it from the former one, which migrations 0001 to 0019 made. */
import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';
import { newOnPostgres, postgresTables } from './postgres-tables.ts';
import { isHuge, sumColumns, sumKey } from './shared-tables.ts';
import { newOnSqlite, sqliteTables } from './sqlite-tables.ts';

export const needs = '0020-initial';

export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  const tables = await db.introspection.getTables();
  const isFormer = tables.some(({ name }) => name === 'accounts');
  const create = types.dialect === 'sqlite' ? sqliteTables : postgresTables;
  for (const text of isFormer ? carryOver(types) : create(types)) await sql.raw(text).execute(db);
}

const formerTables = ['usage_sums', 'usage_day_sums', 'usage_sums_end', 'late_days'];

function carryOver(types: ColumnTypes): string[] {
  const isSqlite = types.dialect === 'sqlite';
  const dropped = formerTables.map((name) => `drop table ${name}`);
  return [
    ...(isSqlite ? beforeOnSqlite : beforeOnPostgres),
    ...dropped,
    ...(isSqlite ? newOnSqlite(types) : newOnPostgres(types)),
    fill(isSqlite),
    'drop table usage_rollups',
    ...(isSqlite ? [] : unusedOnPostgres),
  ];
}

/** The sums of pruned records, and those of the others. */
function fill(isSqlite: boolean): string {
  const day = isSqlite
    ? `strftime('%Y-%m-%d', started_at_ms / 1000, 'unixepoch')`
    : `to_char(to_timestamp(started_at_ms / 1000) at time zone 'UTC', 'YYYY-MM-DD')`;
  const columns = `${sumKey}, ${sumColumns.join(', ')}`;
  const amounts = sumColumns.slice(1).map((column) => `coalesce(${column}, 0)`);
  return `insert into usage_sums (${columns})
    select ${sumKey}, ${sumColumns.map((column) => `sum(${column})`).join(', ')} from (
      select ${columns} from usage_rollups
      union all
      select ${day}, account_id, key_id, operation, case state when 'refused' then '' else coalesce(model, '') end, state,
        1, ${amounts.join(', ')} from usage_records where state <> 'started' and (${isHuge}) is not true) as ended
    group by ${sumKey}`;
}

const beforeOnSqlite = [
  'drop trigger usage_rows_inserted_late',
  'drop trigger usage_rows_ended_late',
  'drop view usage_records',
];

/** Servers of earlier versions would end requests without adding them to the sums. */
const beforeOnPostgres = [
  `do $$ begin
    if exists (select from nodes where not dead and lease_until > clock_timestamp()) then
      raise exception 'A server of an earlier version is running. Stop all servers, then start one of this version.';
    end if; end $$`,
  'update nodes set dead = true',
  'drop trigger usage_records_late on usage_records',
  'drop trigger usage_rollups_late_at_insert on usage_rollups',
  'drop trigger usage_rollups_late_at_update on usage_rollups',
  'drop function parley_note_late(), parley_note_pruned()',
];

/** Parts that served nodes of earlier versions. */
const unusedOnPostgres = [
  'drop trigger fair_use_kept_at_insert on limit_counts',
  'drop trigger fair_use_kept_at_update on limit_counts',
  'drop table fair_use',
  'drop function parley_count_fair_use(), parley_keep_fair_use(), parley_account_owner(uuid)',
  'drop index usage_records_rated',
  'alter table usage_records drop column reserved_units, drop column reserved_month',
  'delete from needed_migrations',
];
