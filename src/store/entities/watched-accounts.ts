/** Reads the values that alerts watch, for many accounts with few queries. */

import { setImmediate as turn } from 'node:timers/promises';
import { sql } from 'kysely';
import type {
  AlertKind,
  AlertMark,
  CreditCount,
  WatchedAccount,
  WatchedKey,
  WatchMoment,
} from '../../core/entities/alert.ts';
import { limitsFromText } from '../../core/entities/limits.ts';
import type { KeyId } from '../../core/values/ids.ts';
import type { PageRequest } from '../../core/values/page.ts';
import type { Dialect } from '../sql/dialect.ts';
import type { Queries } from '../sql/executor.ts';
import type { AlertMarkRow } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { toAccount, withPeriods } from './account-rows.ts';
import { toSettings } from './alert-settings.ts';

/** The accounts of a page: their ids are above `after`, up to `last`. */
interface Span {
  readonly after: string;
  readonly last: string;
}
/** Number of counts that one query reads. */
const countsAtOnce = 500;

const watchedAccounts = statement((p: { after: string; size: number; month: string }, dialect) =>
  withPeriods()
    .innerJoin('alert_settings', 'alert_settings.account_id', 'accounts.id')
    .selectAll('alert_settings')
    .select((watched) => [
      watched
        .selectFrom('limit_counts')
        .select('used')
        .where('owner', '=', dialect.ownerOfAccount)
        .where('unit', '=', sql.lit('fair_use'))
        .where('period', '=', p.month)
        .as('units'),
      latestLoad(dialect).as('latest_load'),
    ])
    // Starts from the settings, as many accounts may have none.
    .where('alert_settings.account_id', '>', p.after)
    .where('suspended_at_ms', 'is', null)
    .where('deleted_at_ms', 'is', null)
    .orderBy('alert_settings.account_id')
    .limit(p.size),
);
function latestLoad({ entryId, otherEntries }: Dialect) {
  return sql<string | null>`(select ${entryId} from ${otherEntries}
    and balance_nano_credits < balance_below and amount_nano_credits > 0
    order by created_at_ms desc, id desc limit 1)`;
}

/** A cross join keeps its order in SQLite, which matters as accounts without settings may have many keys. */
const limitedKeys = statement((p: Span & { readonly nowMs: bigint }) =>
  query
    .selectFrom('alert_settings')
    .crossJoin('api_keys')
    .select(['api_keys.id as key_id', 'api_keys.account_id', 'origin_id', 'limits'])
    .whereRef('api_keys.account_id', '=', 'alert_settings.account_id')
    .where('alert_settings.account_id', '>', p.after)
    .where('alert_settings.account_id', '<=', p.last)
    .where('limits', '<>', sql.lit(''))
    .where('revoked_at_ms', 'is', null)
    .where(({ or, eb }) => or([eb('expires_at_ms', 'is', null), eb('expires_at_ms', '>', p.nowMs)]))
    .orderBy('api_keys.id'),
);
const marks = statement((p: Span) =>
  query
    .selectFrom('alert_marks')
    .selectAll()
    .where('account_id', '>', p.after)
    .where('account_id', '<=', p.last),
).map((row) => ({ accountId: row.account_id, mark: toMark(row) }));
const usedCredits = statement((p: { owners: string; periods: string }, dialect) =>
  query
    .selectFrom('limit_counts')
    .select(['owner', 'period', 'used'])
    .where('owner', 'in', dialect.textsOf(p.owners))
    .where('unit', '=', sql.lit('credits'))
    .where('period', 'in', dialect.textsOf(p.periods)),
);

export async function readWatchedAccounts(
  queries: Queries,
  { month, nowMs }: WatchMoment,
  { after = '', size }: PageRequest,
): Promise<readonly WatchedAccount[]> {
  const rows = await queries.all(watchedAccounts, { after, size, month });
  const last = rows.at(-1)?.id;
  if (last === undefined) return [];
  const span = { after, last };
  const keys = await queries.all(limitedKeys, { ...span, nowMs: BigInt(nowMs) });
  const keysOf = Map.groupBy(keys, ({ account_id: owner }) => owner);
  const found = await queries.all(marks, span);
  const marksOf = Map.groupBy(found, ({ accountId }) => accountId);
  return rows.map((row) => ({
    account: toAccount(row),
    settings: toSettings(row),
    unitsUsed: row.units ?? 0n,
    latestLoad: row.latest_load ?? '',
    keys: (keysOf.get(row.id) ?? []).flatMap(toWatchedKey),
    marks: (marksOf.get(row.id) ?? []).map(({ mark }) => mark),
  }));
}

export async function readUsedCredits(queries: Queries, counts: readonly CreditCount[]): Promise<bigint[]> {
  const used: bigint[] = [];
  for (let at = 0; at < counts.length; at += countsAtOnce) {
    used.push(...(await readSome(queries, counts.slice(at, at + countsAtOnce))));
    // SQLite reads synchronously, so other requests run between pages.
    await turn();
  }
  return used;
}

async function readSome(queries: Queries, counts: readonly CreditCount[]): Promise<bigint[]> {
  const distinct = (texts: readonly string[]) => JSON.stringify([...new Set(texts)]);
  const rows = await queries.all(usedCredits, {
    owners: distinct(counts.map(({ owner }) => owner)),
    periods: distinct(counts.map(({ period }) => period)),
  });
  const keyOf = ({ owner, period }: CreditCount) => `${owner} ${period}`;
  const used = new Map(rows.map((row) => [keyOf(row), row.used]));
  return counts.map((count) => used.get(keyOf(count)) ?? 0n);
}

function toWatchedKey(row: { key_id: string; origin_id: string; limits: string }): WatchedKey[] {
  const limits = limitsFromText(row.limits);
  if (limits === undefined) return [];
  return [{ id: row.key_id as KeyId, originId: (row.origin_id || row.key_id) as KeyId, limits }];
}

function toMark({ kind, subject, period, basis, threshold }: AlertMarkRow): AlertMark {
  return { kind: kind as AlertKind, subject, period, basis, threshold: Number(threshold) };
}
