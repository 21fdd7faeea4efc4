/** Pages of usage records, newest first, by any combination of filters. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { RecordFilter, UsageRecord, UsageStore } from '../../core/entities/usage.ts';
import { timeOfId } from '../../core/values/ids.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { Dialect } from '../sql/dialect.ts';
import { type Executor, pageOf, type Queries } from '../sql/executor.ts';
import { afterAll } from '../sql/schema.ts';
import { query, type Statement, statement } from '../sql/statement.ts';
import { toRecord } from './usage-records.ts';
import { firstRecordMs, idLeadMs, idsBetween, lastRecordMs } from './usage-steps.ts';
import { dayMs, dayText } from './usage-sums.ts';

/** Records that a step reads at most: few at first, as most filters select many records. */
const firstStep = 500;
const stepMax = 16_000;
const stepGrowth = 4;

/** A range of ids, the upper bound excluded. */
interface Range {
  readonly since: string;
  readonly until: string;
}

export interface RecordsWanted extends Omit<RecordFilter, 'signal'>, Range {
  readonly size: number;
}

export function usageLists(executor: Executor): Pick<UsageStore, 'list'> {
  return {
    list: ({ signal, ...filter }, page) =>
      pageOf(page, ({ size, after = afterAll }) => {
        const { since, until } = idsBetween(filter.fromMs, filter.untilMs);
        const wanted = { ...filter, since, until: earlier(until, after), size };
        return isSelective(filter)
          ? executor.readSnapshot((snapshot) => readInSteps(snapshot, wanted, signal))
          : executor.all(recordsOf(wanted), wanted);
      }),
  };
}

/** Without their prefixes, as a page token may have another one. */
const earlier = (one: string, other: string) => (one.slice(4) < other.slice(4) ? one : other);
const later = (one: string, other: string) => (earlier(one, other) === one ? other : one);

/** Whether many records may have to be read to find a few, as no index leads to them. */
function isSelective({ id, ...filter }: RecordFilter): boolean {
  const { keyId, operation, model, state, code, engine, httpStatus, endUser, tag } = filter;
  const given = [keyId, operation, model, state, code, engine, httpStatus, endUser, tag];
  return id === undefined && given.some((value) => value !== undefined);
}

/** Requests run between two steps. */
async function readInSteps(
  snapshot: Queries,
  wanted: RecordsWanted,
  signal: Signal | undefined,
): Promise<UsageRecord[]> {
  const found: UsageRecord[] = [];
  let { until } = wanted;
  let step = firstStep;
  for await (const range of rangesOf(snapshot, wanted, signal)) {
    until = earlier(until, range.until);
    for (let isInRange = true; isInRange; ) {
      const part = { ...wanted, since: range.since, until, size: wanted.size - found.length };
      const last = await snapshot.get(lastOfStep(part), { ...part, step: step - 1 });
      const read = { ...part, since: last?.id ?? range.since };
      found.push(...(await snapshot.all(recordsOf(read), read)));
      if (found.length >= wanted.size) return found;
      isInRange = last !== undefined;
      until = read.since;
      step = Math.min(step * stepGrowth, stepMax);
      await nextTurn();
      signal?.throwIfAborted();
    }
  }
  return found;
}

/** The days that may have records of the filter, newest first. Their sums say whether they have any. */
async function* rangesOf(
  snapshot: Queries,
  wanted: RecordsWanted,
  signal: Signal | undefined,
): AsyncGenerator<Range> {
  const unsummed = await snapshot.all(unsummedDays, {});
  const [oldestMs, newestMs] = [await snapshot.get(firstRecordMs, {}), await snapshot.get(lastRecordMs, {})];
  if (oldestMs === undefined || newestMs === undefined) return;
  const firstMs = Math.max(wanted.fromMs ?? 0, oldestMs - idLeadMs);
  const untilMs = Math.min(
    wanted.untilMs ?? Infinity,
    timeOfId(wanted.until) + idLeadMs,
    newestMs + idLeadMs,
  );
  for (let day = Math.ceil(untilMs / dayMs) - 1; (day + 1) * dayMs > firstMs; day--) {
    const ofDay = { ...wanted, day: dayText(day * dayMs) };
    if (unsummed.includes(day) || (await snapshot.get(dayWith(ofDay), ofDay)) !== undefined) {
      yield clipped(wanted, day * dayMs, (day + 1) * dayMs);
    }
    await nextTurn();
    signal?.throwIfAborted();
  }
}

const unsummedDays = statement((_: object, dialect) =>
  query
    .selectFrom('usage_records')
    .select(sql<bigint>`started_at_ms / ${sql.lit(dayMs)}`.as('number'))
    .distinct()
    .where(dialect.isUnsummed),
).map(({ number }) => Number(number));

function clipped({ since: first, until: last }: Range, fromMs: number, untilMs: number): Range {
  const { since, until } = idsBetween(fromMs, untilMs);
  return { since: later(first, since), until: earlier(last, until) };
}

/** Each combination of filters is its own query, so that each can use an index. */
function byGivenFilters<Wanted extends object, Value>(
  build: (given: ReadonlySet<string>) => Statement<Wanted, Value>,
): (wanted: Wanted) => Statement<Wanted, Value> {
  const built = new Map<string, Statement<Wanted, Value>>();
  return (wanted) => {
    const given = Object.entries(wanted).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    const key = given.sort().join(' ');
    let found = built.get(key);
    if (found === undefined) {
      found = build(new Set(given));
      built.set(key, found);
    }
    return found;
  };
}

type Given<Wanted> = Required<{ [K in keyof Wanted]: NonNullable<Wanted[K]> }>;

/** Records of the filter, newest first. */
export const recordsOf = byGivenFilters<RecordsWanted, UsageRecord>(
  (given) =>
    statement((p: Given<RecordsWanted>, dialect) => {
      const id = dialect.idOrder;
      let rows = inRange(given, p, dialect).selectAll().limit(p.size);
      if (given.has('keyId')) rows = rows.where('key_id', '=', p.keyId);
      if (given.has('fromMs')) rows = rows.where('started_at_ms', '>=', sql<bigint>`${p.fromMs}`);
      if (given.has('untilMs')) rows = rows.where('started_at_ms', '<', sql<bigint>`${p.untilMs}`);
      if (given.has('operation')) rows = rows.where('operation', '=', p.operation);
      if (given.has('model')) rows = rows.where('model', '=', p.model);
      if (given.has('state')) rows = rows.where('state', '=', p.state);
      if (given.has('code')) rows = rows.where('code', '=', p.code);
      if (given.has('engine')) rows = rows.where('engine', '=', p.engine);
      if (given.has('httpStatus')) rows = rows.where('http_status', '=', sql<bigint>`${p.httpStatus}`);
      if (given.has('endUser')) rows = rows.where('end_user', '=', p.endUser);
      if (given.has('tag')) {
        const all = sql`',' || tags || ','`;
        rows = rows.where(sql<boolean>`replace(${all}, ',' || ${p.tag} || ',', '') <> ${all}`);
      }
      if (given.has('id')) rows = rows.where(id, '=', dialect.idBound(p.id));
      return rows;
    }).map(toRecord) as Statement<RecordsWanted, UsageRecord>,
);

/** A day has refused requests under no model. */
const dayWith = byGivenFilters<RecordsWanted & { readonly day: string }, object>(
  (given) =>
    statement((p: Given<RecordsWanted> & { readonly day: string }) => {
      let sums = query.selectFrom('usage_sums').select('day').where('day', '=', p.day).limit(1);
      if (given.has('accountId') || given.has('keyId')) {
        sums = sums.where('account_id', '=', accountOf(given, p));
      }
      if (given.has('keyId')) sums = sums.where('key_id', '=', p.keyId);
      if (given.has('operation')) sums = sums.where('operation', '=', p.operation);
      if (given.has('model')) sums = sums.where(sql<boolean>`(model = ${p.model} or state = 'refused')`);
      if (given.has('state')) sums = sums.where('state', '=', p.state);
      return sums;
    }) as Statement<RecordsWanted & { readonly day: string }, object>,
);

/** The account of the filter, or of its key. */
function accountOf(given: ReadonlySet<string>, { accountId, keyId }: Given<RecordsWanted>) {
  return given.has('accountId')
    ? sql<string>`${accountId}`
    : sql<string>`(select account_id from api_keys where id = ${keyId})`;
}

function inRange(given: ReadonlySet<string>, p: Given<RecordsWanted>, dialect: Dialect) {
  const id = dialect.idOrder;
  let rows = query.selectFrom('usage_records').orderBy(id, 'desc');
  if (given.has('accountId') || given.has('keyId')) {
    rows = rows.where('account_id', '=', accountOf(given, p));
  }
  return rows.where(id, '>=', dialect.idBound(p.since)).where(id, '<', dialect.idBound(p.until));
}

/** The last record of a step, if the range has so many. */
const lastOfStep = byGivenFilters<RecordsWanted, { readonly id: string }>(
  (given) =>
    statement((p: Given<RecordsWanted> & { readonly step: number }, dialect) =>
      inRange(given, p, dialect).select('id').limit(1).offset(p.step),
    ) as Statement<RecordsWanted, { readonly id: string }>,
);
