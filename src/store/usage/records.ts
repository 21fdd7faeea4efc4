import { sql } from 'kysely';
import type { RequestId } from '../../core/ids.ts';
import type { PageRequest } from '../../core/ports/page.ts';
import type { FairUseReservation, Reservation } from '../../core/ports/reservations.ts';
import type { RecordEnd, RecordFilter, RecordStart, UsageRecord } from '../../core/ports/usage.ts';
import { type Connection, columnsOf, prepare, query } from '../sqlite/database.ts';
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

/** Statements on usage records. Synchronous: they run inside the store's transactions. */
export class UsageRecords {
  readonly #insert;
  readonly #started;
  readonly #allStarted;
  readonly #extend;
  readonly #settle;
  readonly #connection;

  constructor(connection: Connection) {
    const started = query
      .selectFrom('usage_records')
      .select(startedColumns)
      // Written out, so that SQLite uses the index of started records.
      .where('state', '=', sql.lit('started'));
    this.#insert = prepare(connection, (p: NewRow) =>
      query.insertInto('usage_records').values(columnsOf(p, recordColumns)),
    );
    this.#started = prepare(connection, (p: { id: RequestId }) => started.where('id', '=', p.id));
    this.#allStarted = prepare(connection, (_: object) => started);
    this.#extend = prepare(connection, (p: { id: RequestId; units: number; month: string }) =>
      query
        .updateTable('usage_records')
        .set({ reserved_units: p.units, reserved_month: p.month })
        .where('id', '=', p.id),
    );
    this.#settle = prepare(connection, (p: EndRow & { id: RequestId }) =>
      query
        .updateTable('usage_records')
        .set({
          ...columnsOf(p, endColumns),
          reserved_units: 0,
          reserved_month: null,
          hold_nano_credits: 0,
        })
        .where('id', '=', p.id),
    );
    this.#connection = connection;
  }

  insertStarted(start: RecordStart, reservation: Reservation): void {
    this.#insert.run(startedRow(start, reservation));
  }

  insertEnded(start: RecordStart, end: RecordEnd): void {
    this.#insert.run(endedRow(start, end));
  }

  /** Undefined if the record does not exist or has ended. */
  started(id: RequestId): StartedRecord | undefined {
    const row = this.#started.get({ id });
    return row && toStarted(row);
  }

  allStarted(): StartedRecord[] {
    return this.#allStarted.all({}).map(toStarted);
  }

  extend(id: RequestId, { units, month }: FairUseReservation): void {
    this.#extend.run({ id, units, month });
  }

  settle(id: RequestId, end: RecordEnd): void {
    this.#settle.run({ id, ...endRow(end) });
  }

  /** Newest first. Each combination of filters is its own query, so that each can use an index. */
  list(filter: RecordFilter, { size, after }: PageRequest): UsageRecord[] {
    let rows = query.selectFrom('usage_records').selectAll().orderBy('id', 'desc').limit(size);
    if (after !== undefined) rows = rows.where('id', '<', after);
    if (filter.accountId !== undefined) rows = rows.where('account_id', '=', filter.accountId);
    if (filter.fromMs !== undefined) rows = rows.where('started_at_ms', '>=', BigInt(filter.fromMs));
    if (filter.untilMs !== undefined) rows = rows.where('started_at_ms', '<', BigInt(filter.untilMs));
    if (filter.operation !== undefined) rows = rows.where('operation', '=', filter.operation);
    if (filter.model !== undefined) rows = rows.where('model', '=', filter.model);
    if (filter.state !== undefined) rows = rows.where('state', '=', filter.state);
    return prepare(this.#connection, (_: object) => rows)
      .all({})
      .map(toRecord);
  }
}
