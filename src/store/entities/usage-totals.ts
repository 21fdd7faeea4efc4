import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { TotalDimension, TotalsQuery, UsageTotal } from '../../core/entities/usage.ts';
import { nanoCredits } from '../../core/values/money.ts';
import type { Executor, Queries } from '../sql/executor.ts';
import { isWithin } from '../sql/id-order.ts';
import { afterAll, type Database } from '../sql/schema.ts';
import { type Dialect, query, statement } from '../sql/statement.ts';
import { dayOfMs, recordsAsRollups, sumColumns, sums } from './usage-rollups.ts';
import { idsBetween, steps } from './usage-steps.ts';

interface RecordStep {
  readonly after: string;
  readonly last: string;
  readonly accountId: string;
  readonly keyId: string;
}

const dayMs = 24 * 60 * 60 * 1000;

type Row = Record<(typeof sumColumns)[number], bigint> & Record<string, string | bigint>;

export async function readTotals(
  executor: Executor,
  wanted: TotalsQuery,
): Promise<readonly UsageTotal[] | 'too_many'> {
  return executor.readSnapshot(async (snapshot) => {
    const totals = new Map<string, Row>();
    for (const parts of [rollupTotals(snapshot, wanted), recordTotals(snapshot, wanted)]) {
      for await (const rows of parts) {
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
async function* recordTotals(snapshot: Queries, { accountId, keyId, fromMs, untilMs, groupBy }: TotalsQuery) {
  const totals = statement((p: RecordStep, dialect) => {
    let records = recordsAsRollups(dialect).select('started_at_ms').where(isWithin(dialect, p));
    if (accountId !== undefined) records = records.where('account_id', '=', p.accountId);
    if (keyId !== undefined) records = records.where('key_id', '=', p.keyId);
    if (fromMs !== undefined) records = records.where('started_at_ms', '>=', BigInt(fromMs));
    if (untilMs !== undefined) records = records.where('started_at_ms', '<', BigInt(untilMs));
    return totalsOf(records, groupBy, { ...dimensions, ...dimensionsOfTime(dialect) });
  });
  const { since: after = '', until = afterAll } = idsBetween(fromMs, untilMs);
  for await (const step of steps(snapshot, { after, until, accountId })) {
    yield (await snapshot.all(totals, { ...step, accountId: accountId ?? '', keyId: keyId ?? '' })) as Row[];
  }
}

/** The totals of each day of rollups. */
async function* rollupTotals(snapshot: Queries, { accountId, keyId, fromMs, untilMs, groupBy }: TotalsQuery) {
  const nextDay = statement((p: { from: string; before: string }) =>
    query
      .selectFrom('usage_rollups')
      .select('day')
      .where('day', '>=', p.from)
      .where('day', '<', p.before)
      .orderBy('day')
      .limit(1),
  );
  const totals = statement((p: { day: string; accountId: string; keyId: string }) => {
    const rollups = query.selectFrom('usage_rollups').selectAll().where('day', '=', p.day);
    const ofAccount = accountId === undefined ? rollups : rollups.where('account_id', '=', p.accountId);
    const wanted = keyId === undefined ? ofAccount : ofAccount.where('key_id', '=', p.keyId);
    return totalsOf(wanted, groupBy);
  });
  const before = untilMs === undefined ? afterAll : dayOf(untilMs);
  let from = fromMs === undefined ? '' : dayOf(fromMs);
  for (;;) {
    const next = await snapshot.get(nextDay, { from, before });
    if (next === undefined) return;
    yield (await snapshot.all(totals, {
      day: next.day,
      accountId: accountId ?? '',
      keyId: keyId ?? '',
    })) as Row[];
    // The end of a range: sorts after the day and before the next one.
    from = `${next.day}~`;
  }
}

interface Dimension {
  readonly value: RawBuilder<string>;
  /** Default: the value. */
  readonly group?: RawBuilder<unknown>;
}

const dimensions: Readonly<Record<TotalDimension, Dimension>> = {
  account: { value: sql`account_id` },
  key: { value: sql`key_id` },
  month: { value: sql`substr(day, 1, 7)` },
  day: { value: sql`day` },
  operation: { value: sql`operation` },
  model: { value: sql`model` },
  state: { value: sql`state` },
};

/** Groups records by the number of their day, as writing the day of each would take half of the time. */
function dimensionsOfTime(dialect: Dialect): Readonly<Record<'day' | 'month', Dimension>> {
  const day = dayOfMs(dialect, sql`min(started_at_ms)`);
  const group = sql`started_at_ms / ${sql.lit(dayMs)}`;
  return { day: { value: day, group }, month: { value: sql`substr(${day}, 1, 7)`, group } };
}

type RollupRows = SelectQueryBuilder<Database, 'usage_records' | 'usage_rollups', { day: string }>;

function totalsOf(rows: RollupRows, groupBy: TotalsQuery['groupBy'], known = dimensions) {
  const totals = query
    .selectFrom(rows.as('usage'))
    .select([...groupBy.map((name) => known[name].value.as(name)), ...sums])
    // Without a group, SQL would return one row of nulls for no rows.
    .having(sql`count(*)`, '>', sql`0`);
  return groupBy.length === 0
    ? totals
    : totals.groupBy(groupBy.map((name) => known[name].group ?? known[name].value));
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
    cachedTokens: row.cached_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    fairUseUnits: row.fair_use_units,
    cost: nanoCredits(row.cost_nano_credits),
  };
}
