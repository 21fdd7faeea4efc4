import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { nanoCredits } from '../../core/billing/money.ts';
import { firstRequestId } from '../../core/ids.ts';
import type { TotalDimension, TotalsQuery, UsageTotal } from '../../core/ports/usage.ts';
import type { Reader } from '../sqlite/reader.ts';
import { query, statement } from '../statement.ts';
import { afterAll, type Database } from '../tables/schema.ts';
import { recordsAsRollups, sumColumns, sums } from './rollup-rows.ts';
import { readSnapshot, steps } from './snapshot.ts';

/** A record id is created at most this long before its request starts, with a generous margin. */
const idLeadMs = 3_600_000;

type Row = Record<(typeof sumColumns)[number], bigint> & Record<string, string | bigint>;

/** @param path of the database */
export async function readTotals(
  path: string,
  wanted: TotalsQuery,
): Promise<readonly UsageTotal[] | 'too_many'> {
  return readSnapshot(path, async (snapshot) => {
    const totals = new Map<string, Row>();
    for (const parts of [rollupTotals(snapshot, wanted), recordTotals(snapshot, wanted)]) {
      for (const rows of parts) {
        for (const row of rows) add(totals, wanted, row);
        if (totals.size > wanted.totalsMax) return 'too_many';
        await nextTurn();
      }
    }
    const inOrder = [...totals].sort(([one], [other]) => (one < other ? -1 : 1));
    return inOrder.map(([, row]) => toTotal(row, wanted));
  });
}

/** The totals of each step of records. */
function* recordTotals(snapshot: Reader, { accountId, fromMs, untilMs, groupBy }: TotalsQuery) {
  let records = recordsAsRollups();
  if (accountId !== undefined) records = records.where('account_id', '=', accountId);
  if (fromMs !== undefined) records = records.where('started_at_ms', '>=', BigInt(fromMs));
  if (untilMs !== undefined) records = records.where('started_at_ms', '<', BigInt(untilMs));
  const totals = statement((p: { after: string; last: string }) =>
    totalsOf(records.where('id', '>', p.after).where('id', '<=', p.last), groupBy),
  );
  const after = fromMs === undefined ? '' : firstRequestId(Math.max(0, fromMs - idLeadMs));
  const until = untilMs === undefined ? afterAll : firstRequestId(untilMs + idLeadMs);
  for (const step of steps(snapshot, { after, until, accountId })) yield snapshot.all(totals, step) as Row[];
}

/** The totals of each day of rollups. */
function* rollupTotals(snapshot: Reader, { accountId, fromMs, untilMs, groupBy }: TotalsQuery) {
  let rollups = query.selectFrom('usage_rollups').selectAll();
  if (accountId !== undefined) rollups = rollups.where('account_id', '=', accountId);
  const nextDay = statement((p: { after: string; until: string }) =>
    query
      .selectFrom('usage_rollups')
      .select('day')
      .where('day', '>=', p.after)
      .where('day', '<', p.until)
      .orderBy('day')
      .limit(1),
  );
  const totals = statement((p: { day: string }) => totalsOf(rollups.where('day', '=', p.day), groupBy));
  const until = untilMs === undefined ? afterAll : dayOf(untilMs);
  let after = fromMs === undefined ? '' : dayOf(fromMs);
  for (;;) {
    const day: string | undefined = snapshot.get(nextDay, { after, until })?.day;
    if (day === undefined) return;
    yield snapshot.all(totals, { day }) as Row[];
    // Sorts after the day and before the next one.
    after = `${day}~`;
  }
}

const dimensions: Readonly<Record<TotalDimension, RawBuilder<string>>> = {
  account: sql`account_id`,
  month: sql`substr(day, 1, 7)`,
  day: sql`day`,
  operation: sql`operation`,
  model: sql`model`,
  state: sql`state`,
};

type RollupRows = SelectQueryBuilder<Database, 'usage_records' | 'usage_rollups', { day: string }>;

function totalsOf(rows: RollupRows, groupBy: TotalsQuery['groupBy']) {
  return (
    query
      .selectFrom(rows.as('usage'))
      .select([...groupBy.map((name) => dimensions[name].as(name)), ...sums])
      // Without a group, SQL would sum no rows to one row of nulls.
      .groupBy([sql`''`, ...groupBy.map((name) => dimensions[name])])
  );
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function add(totals: Map<string, Row>, { groupBy }: TotalsQuery, row: Row): void {
  const key = groupBy.map((name) => row[name]).join('\0');
  const total = totals.get(key);
  if (total === undefined) totals.set(key, row);
  else for (const column of sumColumns) total[column] += row[column];
}

function toTotal(row: Row, { groupBy }: TotalsQuery): UsageTotal {
  return {
    of: Object.fromEntries(groupBy.map((name) => [name, String(row[name])])),
    requests: row.requests,
    characters: row.characters,
    audioMsIn: row.audio_ms_in,
    audioMsOut: row.audio_ms_out,
    promptTokens: row.prompt_tokens,
    completionTokens: row.completion_tokens,
    fairUseUnits: row.fair_use_units,
    cost: nanoCredits(row.cost_nano_credits),
  };
}
