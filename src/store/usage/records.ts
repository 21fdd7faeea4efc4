import type { RequestId } from '../../core/ids.ts';
import type { PageRequest } from '../../core/ports/page.ts';
import type { FairUseReservation, Reservation } from '../../core/ports/reservations.ts';
import type { RecordEnd, RecordFilter, RecordStart, UsageRecord } from '../../core/ports/usage.ts';
import { type Connection, prepare, query } from '../sqlite/database.ts';
import {
  type EndColumns,
  endColumns,
  endValues,
  insertRecord,
  noEnd,
  nothing,
  nothingSetAside,
  type SetAside,
  setAsideColumns,
  startValues,
  toRecord,
  toSetAside,
} from './columns.ts';

type OpenRecord = SetAside & { readonly id: RequestId };

/** Statements on usage records. Synchronous: they run inside the store's transactions. */
export class UsageRecords {
  readonly #insert;
  readonly #started;
  readonly #setAside;
  readonly #finish;
  readonly #open;
  readonly #connection;

  constructor(connection: Connection) {
    this.#insert = prepare(connection, insertRecord);
    this.#started = prepare(connection, (p: { id: RequestId }) =>
      query
        .selectFrom('usage_records')
        .select(setAsideColumns)
        .where('id', '=', p.id)
        .where('state', '=', 'started'),
    );
    this.#setAside = prepare(connection, (p: { id: RequestId; units: number; month: string }) =>
      query
        .updateTable('usage_records')
        .set({ reserved_units: p.units, reserved_month: p.month })
        .where('id', '=', p.id),
    );
    this.#finish = prepare(connection, (p: EndColumns & { id: RequestId }) =>
      query
        .updateTable('usage_records')
        .set({ ...endColumns(p), reserved_units: 0, reserved_month: null, hold_nano_credits: 0 })
        .where('id', '=', p.id),
    );
    this.#open = prepare(connection, (_: object) =>
      query
        .selectFrom('usage_records')
        .select(['id', ...setAsideColumns])
        .where('state', '=', 'started'),
    );
    this.#connection = connection;
  }

  insertStarted(start: RecordStart, { fairUse, hold }: Reservation): void {
    this.#insert.run({
      ...startValues(start),
      ...noEnd,
      state: 'started',
      reservedUnits: fairUse?.units ?? 0,
      reservedMonth: fairUse?.month ?? null,
      hold: hold?.amount ?? nothing,
      priceInput: hold?.price.inputPerMillion ?? null,
      priceOutput: hold?.price.outputPerMillion ?? null,
    });
  }

  insertEnded(start: RecordStart, end: RecordEnd): void {
    this.#insert.run({ ...startValues(start), ...endValues(end), ...nothingSetAside });
  }

  /** Undefined where there is no such record, or it has ended. */
  started(id: RequestId): SetAside | undefined {
    const row = this.#started.get({ id });
    return row && toSetAside(row);
  }

  /** Every record that is still started. */
  open(): OpenRecord[] {
    return this.#open.all({}).map((row) => ({ id: row.id as RequestId, ...toSetAside(row) }));
  }

  setAside(id: RequestId, { units, month }: FairUseReservation): void {
    this.#setAside.run({ id, units, month });
  }

  end(id: RequestId, end: RecordEnd): void {
    this.#finish.run({ id, ...endValues(end) });
  }

  /** Newest first. Each combination of filters is a query of its own, so that each can use its index. */
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
