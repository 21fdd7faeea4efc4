import { sql } from 'kysely';
import type { Price } from '../../core/billing/money.ts';
import type { RequestId } from '../../core/ids.ts';
import type { PageRequest } from '../../core/ports/page.ts';
import type { Reservation } from '../../core/ports/reservations.ts';
import type { RecordEnd, RecordFilter, RecordStart, UsageRecord } from '../../core/ports/usage.ts';
import type { Reader } from '../sqlite/reader.ts';
import { type Step, step } from '../sqlite/writer/job.ts';
import { columnsOf, query, statement } from '../statement.ts';
import {
  type EndRow,
  endColumns,
  endedRow,
  endRow,
  type NewRow,
  recordColumns,
  type StartedRecord,
  startedColumns,
  startedRow,
  toRecord,
  toStarted,
} from './record-row.ts';

const started = query
  .selectFrom('usage_records')
  .select(startedColumns)
  // Written out, so that SQLite uses the index of started records.
  .where('state', '=', sql.lit('started'));
const allStarted = statement((_: object) => started);

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

export function startedRecords(reader: Reader): StartedRecord[] {
  return reader.all(allStarted, {}).map(toStarted);
}

/** Newest first. Each combination of filters is its own query, so that each can use an index. */
export function listRecords(
  reader: Reader,
  filter: RecordFilter,
  { size, after }: PageRequest,
): UsageRecord[] {
  let rows = query.selectFrom('usage_records').selectAll().orderBy('id', 'desc').limit(size);
  if (after !== undefined) rows = rows.where('id', '<', after);
  if (filter.accountId !== undefined) rows = rows.where('account_id', '=', filter.accountId);
  if (filter.fromMs !== undefined) rows = rows.where('started_at_ms', '>=', BigInt(filter.fromMs));
  if (filter.untilMs !== undefined) rows = rows.where('started_at_ms', '<', BigInt(filter.untilMs));
  if (filter.operation !== undefined) rows = rows.where('operation', '=', filter.operation);
  if (filter.model !== undefined) rows = rows.where('model', '=', filter.model);
  if (filter.state !== undefined) rows = rows.where('state', '=', filter.state);
  return reader.allOnce(statement((_: object) => rows)).map(toRecord);
}
