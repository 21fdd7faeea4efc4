/**
 * Sums of ended requests by day (UTC), account, key, operation, model and state. The write that ends a request adds to them, and they
 * stay when its record is pruned.
 */

import { sql } from 'kysely';
import type { RecordEnd, RecordStart } from '../../core/entities/usage.ts';
import {
  amountMax,
  isHuge,
  reportedColumns,
  sumColumns,
  sumKey,
  summedColumns,
} from '../migrations/shared-tables.ts';
import type { Dialect } from '../sql/dialect.ts';
import type { Addition } from '../sql/job.ts';
import { query, type Statement, statement } from '../sql/statement.ts';

export const dayMs = 86_400_000;

export type SumColumn = (typeof sumColumns)[number];

/** The amounts that one request adds. */
export type SumRow = Readonly<Record<(typeof sumKey)[number], string> & Record<SumColumn, bigint>>;

/** A record that may be pruned once it has ended. */
export const isSummable = sql<boolean>`(${sql.raw(isHuge)}) is not true`;

export type SummedStart = Pick<
  RecordStart,
  'accountId' | 'keyId' | 'operation' | 'model' | 'startedAtMs' | 'characters'
>;

/** The amounts that an ended request adds; undefined if they are huge. */
export function sumOf(start: SummedStart, end: RecordEnd): SumRow | undefined {
  const row: SumRow = {
    day: dayText(start.startedAtMs),
    account_id: start.accountId,
    key_id: start.keyId,
    operation: start.operation,
    // Clients may name any model in a refused request, and each would become a total.
    model: end.state === 'refused' ? '' : (start.model ?? ''),
    state: end.state,
    requests: 1n,
    characters: toBigInt(start.characters),
    audio_ms_in: toBigInt(end.audioMsIn),
    audio_ms_out: toBigInt(end.audioMsOut),
    prompt_tokens: toBigInt(end.tokens?.promptTokens),
    completion_tokens: toBigInt(end.tokens?.completionTokens),
    cached_tokens: toBigInt(end.tokens?.cachedTokens),
    cache_write_tokens: toBigInt(end.tokens?.cacheWriteTokens),
    fair_use_units: toBigInt(end.fairUseUnits),
    cost_nano_credits: end.cost ?? 0n,
  };
  for (const column of reportedColumns) if (row[column] >= amountMax) return undefined;
  return row;
}

/** Most amounts are zero, and a conversion takes as long as the rest of the row. */
const toBigInt = (amount: number | undefined) => (amount ? BigInt(Math.round(amount)) : 0n);

/** A statement for each set of amounts above zero, as each value costs time in two threads. */
const adding = new Map<number, Statement<never>>();

function addingTo(filled: number): Statement<never> {
  let found = adding.get(filled);
  if (found === undefined) {
    const columns = sumColumns.filter((_, at) => (filled & (1 << at)) !== 0);
    found = statement((p: SumRow) => {
      const all = [...columns, ...sumKey];
      const values = sql.join(all.map((column) => sql`${p[column]}`));
      const added = columns.map((column) => sql.raw(`${column} = ${column} + excluded.${column}`));
      return sql`insert into usage_sums (${sql.raw(all.join(', '))}) values (${values})
        on conflict (${sql.raw(sumKey.join(', '))}) do update set ${sql.join(added)}`;
    }) as Statement<never>;
    adding.set(filled, found);
  }
  return found;
}

/** SQLite: adds an ended request to its sum. */
export function addSum(start: SummedStart, end: RecordEnd): Addition[] {
  const sum = sumOf(start, end);
  if (sum === undefined) return [];
  const amounts: bigint[] = [];
  let filled = 0;
  for (let at = 0; at < sumColumns.length; at++) {
    const amount = sum[sumColumns[at] as SumColumn];
    if (amount === 0n) continue;
    filled |= 1 << at;
    amounts.push(amount);
  }
  const row = [sum.day, sum.account_id, sum.key_id, sum.operation, sum.model, sum.state];
  return [{ statement: addingTo(filled), amounts, row }];
}

let known = { number: Number.NaN, text: '' };

/** Remembers the last day, as nearly all requests are of the same. */
export function dayText(ms: number): string {
  const number = Math.floor(ms / dayMs);
  if (number !== known.number) known = { number, text: new Date(ms).toISOString().slice(0, 10) };
  return known.text;
}

/** Each usage record as a row of `usage_sums`. */
export function recordsAsSums(dialect: Dialect) {
  return query
    .selectFrom('usage_records')
    .select([
      dialect.dayOfMs(sql.ref('started_at_ms')).as('day'),
      'account_id',
      'key_id',
      'operation',
      sql<string>`case state when 'refused' then '' else coalesce(model, '') end`.as('model'),
      'state',
      sql<bigint>`1`.as('requests'),
      ...summedColumns.map((column) => sql<bigint>`coalesce(${sql.ref(column)}, 0)`.as(column)),
    ]);
}

export const sumsOf = (columns: readonly SumColumn[]) =>
  columns.map((column) => sql<bigint>`sum(${sql.ref(column)})`.as(column));
