/** The rows that totals, pruning and the sums of ended days add up. They share them, so that their sums cannot differ. */
import { type AliasableExpression, type RawBuilder, sql } from 'kysely';
import { type Dialect, query } from '../sql/statement.ts';

/** Pruned records, records of ended days, and the same over all accounts. */
export type SumsTable = 'usage_rollups' | 'usage_sums' | 'usage_day_sums';

const dayKey = ['day', 'operation', 'model', 'state'] as const;
const rollupKey = ['day', 'account_id', 'key_id', 'operation', 'model', 'state'] as const;

const summedColumns = [
  'characters',
  'audio_ms_in',
  'audio_ms_out',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'fair_use_units',
  'cost_nano_credits',
] as const;

export const sumColumns = ['requests', ...summedColumns] as const;

/** An upstream may report any number. Records with more tokens are in no stored sum, so that none overflows. */
const tokensMax = 2n ** 40n;
export const isSummable = sql<boolean>`coalesce(prompt_tokens, 0) < ${sql.lit(tokensMax)}
  and coalesce(completion_tokens, 0) < ${sql.lit(tokensMax)}`;

/** The day (UTC) of a time in milliseconds. */
export function dayOfMs(dialect: Dialect, ms: RawBuilder<unknown>): RawBuilder<string> {
  if (dialect === 'sqlite') return sql`strftime('%Y-%m-%d', ${ms} / 1000, 'unixepoch')`;
  return sql`to_char(to_timestamp(${ms} / 1000) at time zone 'UTC', 'YYYY-MM-DD')`;
}

/** The first moment of the hour of a time in milliseconds. */
export function hourOfMs(dialect: Dialect, ms: RawBuilder<unknown>): RawBuilder<string> {
  if (dialect === 'sqlite') return sql`strftime('%Y-%m-%dT%H:00:00Z', ${ms} / 1000, 'unixepoch')`;
  return sql`to_char(to_timestamp(${ms} / 1000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24":00:00Z"')`;
}

/** Each usage record as a row of `usage_rollups`. */
export function recordsAsRollups(dialect: Dialect) {
  return query.selectFrom('usage_records').select([
    dayOfMs(dialect, sql.ref('started_at_ms')).as('day'),
    'account_id',
    'key_id',
    'operation',
    // Without a model: clients may name any model in a refused request, and each would become a total.
    sql<string>`case state when 'refused' then '' else coalesce(model, '') end`.as('model'),
    'state',
    sql<bigint>`1`.as('requests'),
    ...summedColumns.map((column) => sql<bigint>`coalesce(${sql.ref(column)}, 0)`.as(column)),
  ]);
}

export type SumColumn = (typeof sumColumns)[number];

export const sumsOf = (columns: readonly SumColumn[]) =>
  columns.map((column) => sql<bigint>`sum(${sql.ref(column)})`.as(column));

/** Adds rows to the sums of a table. */
export function addSums(table: SumsTable, rows: AliasableExpression<unknown>): RawBuilder<object> {
  const key = sql.join((table === 'usage_day_sums' ? dayKey : rollupKey).map((column) => sql.ref(column)));
  const columns = sql.join(sumColumns.map((column) => sql.ref(column)));
  const added = sumColumns.map(
    (column) => sql`${sql.ref(column)} = ${sql.ref(`${table}.${column}`)} + excluded.${sql.ref(column)}`,
  );
  return sql`insert into ${sql.table(table)} (${key}, ${columns})
    select ${key}, ${sql.join(sumsOf(sumColumns))} from ${rows.as('added')} group by ${key}
    on conflict (${key}) do update set ${sql.join(added)}`;
}
