import { setImmediate as nextTurn } from 'node:timers/promises';
import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import {
  recordDimensions,
  type Top,
  type TotalDimension,
  type TotalsQuery,
  type UsageTotal,
} from '../../core/entities/usage.ts';
import { nanoCredits } from '../../core/values/money.ts';
import { sumColumns } from '../migrations/shared-tables.ts';
import { type Dialect, isWithin } from '../sql/dialect.ts';
import type { Executor, Queries } from '../sql/executor.ts';
import { afterAll, type Database } from '../sql/schema.ts';
import { query, statement } from '../sql/statement.ts';
import { idsBetween, steps } from './usage-steps.ts';
import { dayMs, dayText, recordsAsSums, type SumColumn, sumsOf } from './usage-sums.ts';

const hourMs = 3_600_000;
/** Sums that one step reads. */
const sumsAtOnce = 5_000;

type Row = Record<SumColumn, bigint> & Record<string, string | bigint>;
type Totals = Map<string, Row>;

/** Accounts, keys or end users that are compared to find the largest. */
const comparedMax = 250_000;

const topColumns: Readonly<Record<Top['by'], readonly SumColumn[]>> = {
  requests: ['requests'],
  cost: ['cost_nano_credits'],
  tokens: ['prompt_tokens', 'completion_tokens'],
  cached_tokens: ['cached_tokens'],
  characters: ['characters'],
  audio_seconds_in: ['audio_ms_in'],
};

/** The totals that one pass over the sums reads. */
interface Pass extends TotalsQuery {
  readonly columns: readonly SumColumn[];
  /** The accounts, keys or end users with totals of their own; all others are summed under ''. Default: all. */
  readonly own?: readonly string[];
}

interface Parameters {
  readonly accountId: string;
  readonly keyId: string;
  /** A JSON list of ids or names. */
  readonly own: string;
}

export async function readTotals(
  executor: Executor,
  wanted: TotalsQuery,
): Promise<readonly UsageTotal[] | 'too_many'> {
  return executor.readSnapshot(async (snapshot) => {
    const own = wanted.top && (await largest(snapshot, wanted, wanted.top));
    if (own === 'too_many') return own;
    const totals = await read(snapshot, { ...wanted, columns: sumColumns, ...(own && { own }) });
    if (totals === 'too_many') return totals;
    const inOrder = [...totals].sort(([one], [other]) => (one < other ? -1 : 1));
    return inOrder.map(([, row]) => toTotal(row, wanted));
  });
}

/** The accounts, keys or end users with the largest sums. Old sums without a key belong to none. */
async function largest(snapshot: Queries, wanted: TotalsQuery, { dimension, by, size }: Top) {
  const columns = topColumns[by];
  const pass = { ...wanted, top: undefined, groupBy: [dimension], totalsMax: comparedMax, columns };
  const totals = await read(snapshot, pass);
  if (totals === 'too_many') return totals;
  const sumOf = (row: Row) => columns.reduce((sum, column) => sum + row[column], 0n);
  const sums = [...totals].map(([id, row]) => ({ id, sum: sumOf(row) })).filter(({ id }) => id !== '');
  sums.sort((one, other) =>
    one.sum === other.sum ? (one.id < other.id ? -1 : 1) : one.sum < other.sum ? 1 : -1,
  );
  return sums.slice(0, size).map(({ id }) => id);
}

async function read(snapshot: Queries, wanted: Pass): Promise<Totals | 'too_many'> {
  const totals: Totals = new Map();
  const ofRecords = recordDimensions.filter((name) => wanted.groupBy.includes(name));
  const parts = [storedTotals(snapshot, wanted), recordTotals(snapshot, wanted, 'unsummed')];
  const none = Object.fromEntries(ofRecords.map((name) => [name, '']));
  // Stored sums have no such values: those of remaining records move to their own.
  if (ofRecords.length > 0) parts.push(recordTotals(snapshot, wanted, 'summed'));
  for (const [at, part] of parts.entries()) {
    for await (const rows of part) {
      for (const row of rows) {
        add(totals, wanted, row);
        if (at === 2) add(totals, wanted, { ...row, ...none }, -1n);
      }
      if (totals.size > wanted.totalsMax * (ofRecords.length > 0 ? 2 : 1)) return 'too_many';
      await nextTurn();
      wanted.signal?.throwIfAborted();
    }
  }
  for (const [key, { requests }] of totals) if (requests === 0n) totals.delete(key);
  return totals.size > wanted.totalsMax ? 'too_many' : totals;
}

const parametersOf = ({ accountId, keyId, own = [] }: Pass): Parameters => ({
  accountId: accountId ?? '',
  keyId: keyId ?? '',
  own: JSON.stringify(own),
});

/** The totals of each step of records that are in stored sums, or in none. */
async function* recordTotals(snapshot: Queries, wanted: Pass, which: 'summed' | 'unsummed') {
  const { accountId, keyId, fromMs, untilMs } = wanted;
  const totals = statement((p: Parameters & { readonly after: string; readonly last: string }, dialect) => {
    const isWanted =
      which === 'unsummed'
        ? dialect.isUnsummed
        : sql<boolean>`${isWithin(dialect, p)} and (${dialect.isUnsummed}) is not true`;
    let records = recordsAsSums(dialect)
      .select(['started_at_ms', ...causeColumns])
      .where(isWanted);
    if (accountId !== undefined) records = records.where('account_id', '=', p.accountId);
    if (keyId !== undefined) records = records.where('key_id', '=', p.keyId);
    if (fromMs !== undefined) records = records.where('started_at_ms', '>=', BigInt(fromMs));
    if (untilMs !== undefined) records = records.where('started_at_ms', '<', BigInt(untilMs));
    const known = { ...dimensions, ...dimensionsOfTime(dialect), ...dimensionsOfCause };
    return totalsOf(records, wanted, { ...known, ...dimensionOfOwners(wanted, known, p, dialect) });
  });
  const { since: after, until } = idsBetween(fromMs, untilMs);
  const inSteps =
    which === 'unsummed'
      ? [{ after, last: until }]
      : steps(snapshot, 'usage_records', { after, until, accountId });
  for await (const step of inSteps) {
    yield (await snapshot.all(totals, { ...step, ...parametersOf(wanted) })) as Row[];
  }
}

/** `fromDay` and `upToDay` bound what is read: a database need not search by the places alone. */
interface StoredRange extends Parameters {
  readonly fromDay: string;
  readonly upToDay: string;
  readonly afterDay: string;
  readonly after: string;
  readonly lastDay: string;
  readonly last: string;
}

/** The totals of each step of stored sums. */
async function* storedTotals(snapshot: Queries, wanted: Pass) {
  const { accountId, keyId, fromMs, untilMs } = wanted;
  const rowsAfter = (p: StoredRange) => {
    const rows = query
      .selectFrom('usage_sums')
      .where('day', '>=', p.fromDay)
      .where('day', '<=', p.upToDay)
      .where(sql<boolean>`(day, account_id) > (${p.afterDay}, ${p.after})`);
    const ofAccount = accountId === undefined ? rows : rows.where('account_id', '=', p.accountId);
    return keyId === undefined ? ofAccount : ofAccount.where('key_id', '=', p.keyId);
  };
  const lastPlace = statement((p: StoredRange) =>
    rowsAfter(p)
      .select(['day', 'account_id'])
      .orderBy(sql`day, account_id`)
      .limit(1)
      .offset(sumsAtOnce - 1),
  );
  const totals = statement((p: StoredRange, dialect) => {
    const rows = rowsAfter(p).where(sql<boolean>`(day, account_id) <= (${p.lastDay}, ${p.last})`);
    const owners = dimensionOfOwners(wanted, dimensions, p, dialect);
    return totalsOf(rows.selectAll(), wanted, { ...dimensions, ...owners });
  });
  const ofAll = { ...parametersOf(wanted), afterDay: '', after: '', lastDay: afterAll, last: afterAll };
  let range: StoredRange = {
    ...ofAll,
    fromDay: fromMs === undefined ? '' : dayText(fromMs),
    upToDay: untilMs === undefined ? afterAll : dayText(untilMs - dayMs),
  };
  for (;;) {
    const found = await snapshot.get(lastPlace, range);
    if (found === undefined) {
      yield (await snapshot.all(totals, range)) as Row[];
      return;
    }
    const { day, account_id: last } = found;
    yield (await snapshot.all(totals, { ...range, upToDay: day, lastDay: day, last })) as Row[];
    range = { ...range, fromDay: day, afterDay: day, after: last };
  }
}

interface Dimension {
  readonly value: RawBuilder<string>;
  /** Default: the value. */
  readonly group?: RawBuilder<unknown>;
}

/** Not a constant, which PostgreSQL would take for the number of a column. */
const noValue = { value: sql<string>`substr(day, 1, 0)` };

const dimensions: Readonly<Record<TotalDimension, Dimension>> = {
  account: { value: sql`account_id` },
  key: { value: sql`key_id` },
  month: { value: sql`substr(day, 1, 7)` },
  day: { value: sql`day` },
  hour: noValue,
  code: noValue,
  engine: noValue,
  http_status: noValue,
  end_user: noValue,
  tags: noValue,
  operation: { value: sql`operation` },
  model: { value: sql`model` },
  state: { value: sql`state` },
};

/** Text of each column, '' for null. */
const causeColumns = ['code', 'engine', 'http_status', 'end_user', 'tags'] as const;
const dimensionsOfCause = Object.fromEntries(
  causeColumns.map((name) => [name, { value: sql<string>`coalesce(cast(${sql.ref(name)} as text), '')` }]),
);

/** Groups records by the number of their day or hour, as writing the day of each would take half of the time. */
function dimensionsOfTime(dialect: Dialect): Readonly<Record<'hour' | 'day' | 'month', Dimension>> {
  const day = dialect.dayOfMs(sql`min(started_at_ms)`);
  const group = sql`started_at_ms / ${sql.lit(dayMs)}`;
  return {
    hour: {
      value: dialect.hourOfMs(sql`min(started_at_ms)`),
      group: sql`started_at_ms / ${sql.lit(hourMs)}`,
    },
    day: { value: day, group },
    month: { value: sql`substr(${day}, 1, 7)`, group },
  };
}

type SumRows = SelectQueryBuilder<Database, 'usage_records' | 'usage_sums', { day: string }>;

function totalsOf(rows: SumRows, { groupBy, columns }: Pass, known: typeof dimensions) {
  const totals = query
    .selectFrom(rows.as('usage'))
    .select([...groupBy.map((name) => known[name].value.as(name)), ...sumsOf(columns)])
    // Without a group, SQL would return one row of nulls for no rows.
    .having(sql`count(*)`, '>', sql`0`);
  return groupBy.length === 0
    ? totals
    : totals.groupBy(groupBy.map((name) => known[name].group ?? known[name].value));
}

/** Sums accounts, keys or end users without totals of their own under an empty id, so that few rows are read. */
function dimensionOfOwners(
  { top, own }: Pass,
  known: typeof dimensions,
  p: Parameters,
  dialect: Dialect,
): Partial<Record<TotalDimension, Dimension>> {
  if (top === undefined || own === undefined) return {};
  const { value } = known[top.dimension];
  const [texts, none] =
    top.dimension === 'end_user' ? [dialect.textsOf(p.own), sql`''`] : [dialect.idsOf(p.own), dialect.noId];
  const owner = sql<string>`case when ${value} in ${texts} then ${value} else ${none} end`;
  // PostgreSQL takes the same expression with other parameters for another one.
  return { [top.dimension]: { value: owner, group: sql.ref(top.dimension) } };
}

function add(totals: Totals, { groupBy, columns }: Pass, row: Row, sign: 1n | -1n = 1n): void {
  const key = groupBy.map((name) => row[name]).join('\0');
  const total = totals.get(key);
  if (total === undefined) totals.set(key, row);
  else for (const column of columns) total[column] += sign * row[column];
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
