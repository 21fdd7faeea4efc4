/** Reads what alerts are about, for many accounts with few queries. */
import { sql } from 'kysely';
import type { KeyId } from '../core/ids.ts';
import type { Count } from '../core/limits/counts.ts';
import { limitsFromText } from '../core/limits/limits.ts';
import type { AlertKind, AlertMark, WatchedAccount, WatchedKey } from '../core/ports/alerts.ts';
import type { PageRequest } from '../core/ports/page.ts';
import type { Queries } from './executor.ts';
import { query, statement } from './statement.ts';
import { toAccount, withPeriods } from './tables/accounts.ts';
import { toSettings } from './tables/alert-settings.ts';
import type { AlertMarkRow } from './tables/schema.ts';

/** The accounts of a page: their ids are above `after`, up to `last`. */
interface Span {
  readonly after: string;
  readonly last: string;
}

const watchedAccounts = statement((p: { after: string; size: number; month: string }) =>
  withPeriods()
    .innerJoin('alert_settings', 'alert_settings.account_id', 'accounts.id')
    .selectAll('alert_settings')
    .select((watched) => [
      watched
        .selectFrom('fair_use')
        .select('used_units')
        .whereRef('fair_use.account_id', '=', 'accounts.id')
        .where('month', '=', p.month)
        .as('units'),
      // Sorted by time: an index of the entries that are no debits serves it, and there are few of them.
      watched
        .selectFrom('ledger_entries')
        .select('ledger_entries.id')
        .whereRef('ledger_entries.account_id', '=', 'accounts.id')
        .whereRef('balance_nano_credits', '<', 'balance_below')
        .where(sql<boolean>`ledger_entries.kind <> 'debit'`)
        .where('amount_nano_credits', '>', sql.lit(0n))
        .orderBy('ledger_entries.created_at_ms', 'desc')
        .orderBy('ledger_entries.id', 'desc')
        .limit(1)
        .as('latest_load'),
    ])
    .where('accounts.id', '>', p.after)
    .where('suspended_at_ms', 'is', null)
    .where('deleted_at_ms', 'is', null)
    .orderBy('accounts.id')
    .limit(p.size),
);
const limitedKeys = statement((p: Span) =>
  query
    .selectFrom('api_keys')
    .innerJoin('alert_settings', 'alert_settings.account_id', 'api_keys.account_id')
    .select(['api_keys.id', 'api_keys.account_id', 'origin_id', 'limits'])
    .where('api_keys.account_id', '>', p.after)
    .where('api_keys.account_id', '<=', p.last)
    .where('limits', '<>', sql.lit(''))
    .where('revoked_at_ms', 'is', null)
    .orderBy('api_keys.id'),
);
const marks = statement((p: Span) =>
  query
    .selectFrom('alert_marks')
    .selectAll()
    .where('account_id', '>', p.after)
    .where('account_id', '<=', p.last),
).map((row) => ({ accountId: row.account_id, mark: toMark(row) }));
const usedAmounts = statement((p: { owners: string; periods: string }, dialect) => {
  const among = (texts: string) =>
    dialect === 'postgres'
      ? sql<string>`(select jsonb_array_elements_text(${texts}::jsonb))`
      : sql<string>`(select value from json_each(${texts}))`;
  return query
    .selectFrom('limit_counts')
    .select(['owner', 'unit', 'period', 'used'])
    .where('owner', 'in', among(p.owners))
    .where('period', 'in', among(p.periods));
});

export async function readWatchedAccounts(
  queries: Queries,
  month: string,
  { after = '', size }: PageRequest,
): Promise<readonly WatchedAccount[]> {
  const rows = await queries.all(watchedAccounts, { after, size, month });
  const last = rows.at(-1)?.id;
  if (last === undefined) return [];
  const span = { after, last };
  const keys = await queries.all(limitedKeys, span);
  const found = await queries.all(marks, span);
  return rows.map((row) => ({
    account: toAccount(row),
    settings: toSettings(row),
    unitsUsed: row.units ?? 0n,
    latestLoad: row.latest_load ?? '',
    keys: keys.flatMap((key) => (key.account_id === row.id ? toWatchedKey(key) : [])),
    marks: found.flatMap(({ accountId, mark }) => (accountId === row.id ? mark : [])),
  }));
}

export async function readUsedAmounts(queries: Queries, counts: readonly Count[]): Promise<bigint[]> {
  if (counts.length === 0) return [];
  const distinct = (texts: readonly string[]) => JSON.stringify([...new Set(texts)]);
  const rows = await queries.all(usedAmounts, {
    owners: distinct(counts.map(({ owner }) => owner)),
    periods: distinct(counts.map(({ period }) => period)),
  });
  const keyOf = ({ owner, unit, period }: { owner: string; unit: string; period: string }) =>
    `${owner} ${unit} ${period}`;
  const used = new Map(rows.map((row) => [keyOf(row), row.used]));
  return counts.map((count) => used.get(keyOf(count)) ?? 0n);
}

function toWatchedKey(row: { id: string; origin_id: string; limits: string }): WatchedKey[] {
  const limits = limitsFromText(row.limits);
  if (limits === undefined) return [];
  return [{ id: row.id as KeyId, originId: (row.origin_id || row.id) as KeyId, limits }];
}

function toMark({ kind, subject, period, basis, threshold }: AlertMarkRow): AlertMark {
  return { kind: kind as AlertKind, subject, period, basis, threshold: Number(threshold) };
}
