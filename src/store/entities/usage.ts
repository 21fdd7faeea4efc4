import { sql } from 'kysely';
import type { Reservation } from '../../core/entities/reservation.ts';
import type { RecordEnd, RecordFilter, RecordStart, UsageRecord } from '../../core/entities/usage.ts';
import { firstRequestId, type RequestId } from '../../core/values/ids.ts';
import type { Price } from '../../core/values/money.ts';
import { type Step, step } from '../sql/job.ts';
import { columnsOf, query, type Statement, statement } from '../sql/statement.ts';
import {
  type EndRow,
  endColumns,
  endedRow,
  endRow,
  type NewRow,
  recordColumns,
  startedColumns,
  startedRow,
  toRecord,
  toStarted,
} from './usage-row.ts';

export const startedRecords = statement((_: object) =>
  query
    .selectFrom('usage_records')
    .select(startedColumns)
    // Written out, so that SQLite uses the index of started records.
    .where('state', '=', sql.lit('started')),
).map(toStarted);

const insert = statement((p: NewRow) =>
  query.insertInto('usage_records').values(columnsOf(p, recordColumns)),
);
const extend = statement((p: { id: RequestId; units: number }) =>
  query.updateTable('usage_records').set({ reserved_units: p.units }).where('id', '=', p.id),
);
const end = statement((p: EndRow & { id: RequestId }) =>
  query
    .updateTable('usage_records')
    .set({ ...columnsOf(p, endColumns), reserved_units: 0, reserved_month: null, hold_nano_credits: 0 })
    .where('id', '=', p.id)
    .where('state', '=', 'started'),
);

export function insertStarted(start: RecordStart, reservation: Reservation): Step {
  return step(insert, startedRow(start, reservation), 'fail');
}

/** Inserts the record of a request that has no started record. */
export function insertEnded(start: RecordStart, recorded: RecordEnd, price?: Price): Step {
  return step(insert, endedRow(start, recorded, price), 'fail');
}

/** Changes the reserved units of a started record. */
export function extendStarted(id: RequestId, units: number): Step {
  return step(extend, { id, units }, 'fail');
}

/** Ends a started record. */
export function endStarted(id: RequestId, recorded: RecordEnd): Step {
  return step(end, { id, ...endRow(recorded) }, 'fail');
}

/** A record id is created at most this long before its request starts, with a generous margin. */
const idLeadMs = 3_600_000;

/** The ids of requests that started in a span of time. Reading by them does not pass over all others. */
export function idsBetween(fromMs: number | undefined, untilMs: number | undefined) {
  return {
    since: fromMs === undefined ? undefined : firstRequestId(Math.max(0, fromMs - idLeadMs)),
    until: untilMs === undefined ? undefined : firstRequestId(Math.max(0, untilMs + idLeadMs)),
  };
}

interface RecordsWanted extends RecordFilter {
  /** Bounds of the ids, as `idsBetween` gives them. */
  readonly since: string | undefined;
  readonly until: string | undefined;
  readonly after: string | undefined;
  readonly size: number;
}

const lists = new Map<string, Statement<RecordsWanted, UsageRecord>>();

/** Records, newest first. Each combination of filters is its own query, so that each can use an index. */
export function recordsBefore(wanted: RecordsWanted): Statement<RecordsWanted, UsageRecord> {
  const given = Object.entries(wanted).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  const key = given.sort().join(' ');
  let list = lists.get(key);
  if (list === undefined) {
    list = listBy(new Set(given));
    lists.set(key, list);
  }
  return list;
}

function listBy(given: ReadonlySet<string>): Statement<RecordsWanted, UsageRecord> {
  return statement((p: Required<{ [K in keyof RecordsWanted]: NonNullable<RecordsWanted[K]> }>) => {
    let rows = query.selectFrom('usage_records').selectAll().orderBy('id', 'desc').limit(p.size);
    if (given.has('after')) rows = rows.where('id', '<', p.after);
    if (given.has('accountId')) rows = rows.where('account_id', '=', p.accountId);
    if (given.has('since')) rows = rows.where('id', '>=', sql<RequestId>`${p.since}`);
    if (given.has('until')) rows = rows.where('id', '<', sql<RequestId>`${p.until}`);
    if (given.has('keyId')) rows = rows.where('key_id', '=', p.keyId);
    if (given.has('fromMs')) rows = rows.where('started_at_ms', '>=', sql<bigint>`${p.fromMs}`);
    if (given.has('untilMs')) rows = rows.where('started_at_ms', '<', sql<bigint>`${p.untilMs}`);
    if (given.has('operation')) rows = rows.where('operation', '=', p.operation);
    if (given.has('model')) rows = rows.where('model', '=', p.model);
    if (given.has('state')) rows = rows.where('state', '=', p.state);
    if (given.has('id')) rows = rows.where('id', '=', p.id);
    return rows;
  }).map(toRecord) as Statement<RecordsWanted, UsageRecord>;
}
