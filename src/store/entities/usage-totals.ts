import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Top, TotalDimension, TotalsQuery, UsageTotal } from '../../core/entities/usage.ts';
import { nanoCredits } from '../../core/values/money.ts';
import type { Executor, Queries } from '../sql/executor.ts';
import { isWithin } from '../sql/id-order.ts';
import { afterAll, type Database } from '../sql/schema.ts';
import { type Dialect, query, statement } from '../sql/statement.ts';
import { dayOfMs, hourOfMs, recordsAsRollups, sumColumns, sums } from './usage-rollups.ts';
import { idsBetween, steps } from './usage-steps.ts';
import { dayMs, dayText, type Span, spansOf } from './usage-sums.ts';

const hourMs = 3_600_000;
/** Sums that one step reads. */
const sumsAtOnce = 2_000;

type Row = Record<(typeof sumColumns)[number], bigint> & Record<string, string | bigint>;
type Totals = Map<string, Row>;

/** Accounts or keys that are compared to find the largest. */
const comparedMax = 250_000;

const topColumns: Readonly<Record<Top['by'], readonly (typeof sumColumns)[number][]>> = {
  requests: ['requests'],
  cost: ['cost_nano_credits'],
  tokens: ['prompt_tokens', 'completion_tokens'],
  cached_tokens: ['cached_tokens'],
  characters: ['characters'],
  audio_seconds_in: ['audio_ms_in'],
};

/** The totals that one pass over the sums reads. */
interface Pass extends TotalsQuery {
  /** The accounts or keys with totals of their own. Default: all. */
  readonly own?: ReadonlySet<string>;
}

interface Parameters {
  readonly accountId: string;
  readonly keyId: string;
}

export async function readTotals(
  executor: Executor,
  wanted: TotalsQuery,
): Promise<readonly UsageTotal[] | 'too_many'> {
  return executor.readSnapshot(async (snapshot) => {
    const own = wanted.top && (await largest(snapshot, wanted, wanted.top));
    if (own === 'too_many') return own;
    const totals = await read(snapshot, own ? { ...wanted, own } : wanted);
    if (totals === 'too_many') return totals;
    const inOrder = [...totals].sort(([one], [other]) => (one < other ? -1 : 1));
    return inOrder.map(([, row]) => toTotal(row, wanted));
  });
}

/** The accounts or keys with the largest sums. Old sums without a key belong to none. */
async function largest(snapshot: Queries, wanted: TotalsQuery, { dimension, by, size }: Top) {
  const totals = await read(snapshot, { ...wanted, groupBy: [dimension], totalsMax: comparedMax });
  if (totals === 'too_many') return totals;
  const sumOf = (row: Row) => topColumns[by].reduce((sum, column) => sum + row[column], 0n);
  const sums = [...totals].map(([id, row]) => ({ id, sum: sumOf(row) })).filter(({ id }) => id !== '');
  sums.sort((one, other) =>
    one.sum === other.sum ? (one.id < other.id ? -1 : 1) : one.sum < other.sum ? 1 : -1,
  );
  return new Set(sums.slice(0, size).map(({ id }) => id));
}

async function read(snapshot: Queries, wanted: Pass): Promise<Totals | 'too_many'> {
  const totals: Totals = new Map();
  // Sums of ended days have no hours.
  const spans: Span[] = wanted.groupBy.includes('hour')
    ? [{ fromMs: wanted.fromMs, untilMs: wanted.untilMs, table: 'usage_rollups' }]
    : await spansOf(snapshot, wanted);
  for (const span of spans) {
    const parts = [storedTotals(snapshot, wanted, span)];
    if (span.table === 'usage_rollups') parts.push(recordTotals(snapshot, { ...wanted, ...span }));
    for (const part of parts) {
      for await (const rows of part) {
        for (const row of rows) add(totals, wanted, row);
        if (totals.size > wanted.totalsMax) return 'too_many';
        await nextTurn();
      }
    }
  }
  return totals;
}

const parametersOf = ({ accountId, keyId }: TotalsQuery): Parameters => ({
  accountId: accountId ?? '',
  keyId: keyId ?? '',
});

/** The totals of each step of records. */
async function* recordTotals(snapshot: Queries, wanted: TotalsQuery) {
  const { accountId, keyId, fromMs, untilMs, groupBy } = wanted;
  const totals = statement((p: Parameters & { readonly after: string; readonly last: string }, dialect) => {
    let records = recordsAsRollups(dialect).select('started_at_ms').where(isWithin(dialect, p));
    if (accountId !== undefined) records = records.where('account_id', '=', p.accountId);
    if (keyId !== undefined) records = records.where('key_id', '=', p.keyId);
    if (fromMs !== undefined) records = records.where('started_at_ms', '>=', BigInt(fromMs));
    if (untilMs !== undefined) records = records.where('started_at_ms', '<', BigInt(untilMs));
    return totalsOf(records, groupBy, { ...dimensions, ...dimensionsOfTime(dialect) });
  });
  const { since: after = '', until = afterAll } = idsBetween(fromMs, untilMs);
  for await (const step of steps(snapshot, { after, until, accountId })) {
    yield (await snapshot.all(totals, { ...step, ...parametersOf(wanted) })) as Row[];
  }
}

interface StoredRange extends Parameters {
  readonly fromDay: string;
  readonly untilDay: string;
  readonly afterDay: string;
  readonly after: string;
  readonly lastDay: string;
  readonly last: string;
}

/** The totals of each step of stored sums. */
async function* storedTotals(snapshot: Queries, wanted: TotalsQuery, { fromMs, untilMs, table }: Span) {
  const { accountId, keyId, groupBy } = wanted;
  const isOfAll = accountId === undefined && keyId === undefined && !groupBy.some(isOwner);
  const source = table === 'usage_sums' && isOfAll ? 'usage_day_sums' : table;
  const place = (day: unknown, account: unknown) =>
    source === 'usage_day_sums' ? sql`(${day})` : sql`(${day}, ${account})`;
  const order = source === 'usage_day_sums' ? sql`day` : sql`day, account_id`;
  const rowsAfter = (p: StoredRange) => {
    const rows = query
      .selectFrom(source as 'usage_rollups')
      .where('day', '>=', p.fromDay)
      .where('day', '<', p.untilDay)
      .where(sql<boolean>`(${order}) > ${place(p.afterDay, p.after)}`);
    const ofAccount = accountId === undefined ? rows : rows.where('account_id', '=', p.accountId);
    return keyId === undefined ? ofAccount : ofAccount.where('key_id', '=', p.keyId);
  };
  const lastPlace = statement((p: StoredRange) => {
    const account = source === 'usage_day_sums' ? sql<string>`''` : sql<string>`account_id`;
    const rows = rowsAfter(p).select(['day', account.as('account_id')]);
    return rows
      .orderBy(order)
      .limit(1)
      .offset(sumsAtOnce - 1);
  });
  const totals = statement((p: StoredRange) => {
    const rows = rowsAfter(p).where(sql<boolean>`(${order}) <= ${place(p.lastDay, p.last)}`);
    return totalsOf(rows.selectAll(), groupBy);
  });
  const fromDay = fromMs === undefined ? '' : dayText(fromMs);
  const untilDay = untilMs === undefined ? afterAll : dayText(untilMs);
  let [afterDay, after] = ['', ''];
  for (;;) {
    const range = {
      ...parametersOf(wanted),
      fromDay,
      untilDay,
      afterDay,
      after,
      lastDay: afterAll,
      last: afterAll,
    };
    const found = await snapshot.get(lastPlace, range);
    const [lastDay, last] = found ? [found.day, found.account_id] : [afterAll, afterAll];
    yield (await snapshot.all(totals, { ...range, lastDay, last })) as Row[];
    if (found === undefined) return;
    [afterDay, after] = [lastDay, last];
  }
}

const isOwner = (name: TotalDimension): boolean => name === 'account' || name === 'key';

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
  hour: { value: sql`substr(day, 1, 0)` },
  operation: { value: sql`operation` },
  model: { value: sql`model` },
  state: { value: sql`state` },
};

/** Groups records by the number of their day or hour, as writing the day of each would take half of the time. */
function dimensionsOfTime(dialect: Dialect): Readonly<Record<'hour' | 'day' | 'month', Dimension>> {
  const day = dayOfMs(dialect, sql`min(started_at_ms)`);
  const group = sql`started_at_ms / ${sql.lit(dayMs)}`;
  return {
    hour: {
      value: hourOfMs(dialect, sql`min(started_at_ms)`),
      group: sql`started_at_ms / ${sql.lit(hourMs)}`,
    },
    day: { value: day, group },
    month: { value: sql`substr(${day}, 1, 7)`, group },
  };
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

function add(totals: Totals, { groupBy, top, own }: Pass, row: Row): void {
  if (top && own && !own.has(String(row[top.dimension]))) row[top.dimension] = '';
  const key = groupBy.map((name) => row[name]).join('\0');
  const total = totals.get(key);
  if (total === undefined) totals.set(key, row);
  else for (const column of sumColumns) total[column] += row[column];
}

function toTotal(row: Row, { groupBy, top }: TotalsQuery): UsageTotal {
  return {
    of: Object.fromEntries(groupBy.map((name) => [name, String(row[name])])),
    ...(top !== undefined && row[top.dimension] === '' && { isRest: true }),
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
