/** The SQL that differs between the two databases: the same names in both. */
import { Kysely, PostgresDialect, type RawBuilder, SqliteDialect, sql } from 'kysely';
import { bounds, matches } from '../../core/values/bounds.ts';
import { debitNumber, startedNumber } from '../migrations/integer-rows.ts';
import { isHuge } from '../migrations/shared-tables.ts';
import type { Database } from './schema.ts';

export interface Dialect {
  /** Builds queries. It has no connection: it only compiles. */
  readonly query: Kysely<Database>;
  /** The column that sorts by id, and has an index. */
  readonly idOrder: RawBuilder<string>;
  /** An id, or the bound of a range of ids, in the form of that column. */
  idBound(id: unknown): RawBuilder<string>;
  /** The id that stands for all that have no sum of their own. */
  readonly noId: RawBuilder<unknown>;
  /** The texts of a JSON array, so that one compiled query takes any number of them. */
  textsOf(json: string): RawBuilder<string>;
  /** The ids of `idList`, to be compared with the column of an id. */
  idsOf(json: string): RawBuilder<string>;
  /** The day (UTC) of a time in milliseconds. */
  dayOfMs(ms: RawBuilder<unknown>): RawBuilder<string>;
  /** The first moment of the hour of a time in milliseconds. */
  hourOfMs(ms: RawBuilder<unknown>): RawBuilder<string>;
  /** The column by which any row is found while it stays. */
  readonly rowPlace: RawBuilder<unknown>;
  /** Follow a select whose rows must not change. SQLite has one writer, and locks nothing. */
  readonly forUpdate: RawBuilder<unknown>;
  readonly forShare: RawBuilder<unknown>;
  readonly skipLocked: RawBuilder<unknown>;
  /** The column of a claim's node, which only PostgreSQL has. */
  ofNode(epoch: bigint): { readonly node_epoch?: bigint };
  /** The id of a selected account, as the owner of a count. */
  readonly ownerOfAccount: RawBuilder<string>;
  /** Whether a usage record is that of the selected debit. */
  readonly isOfDebit: RawBuilder<boolean>;
  /** The id of an entry, and the entries of the selected account that are not debits, by the index of those few. */
  readonly entryId: RawBuilder<unknown>;
  readonly otherEntries: RawBuilder<unknown>;
  /** Usage records that are in no sum: started ones, and those with huge amounts. An index leads to them. */
  readonly isUnsummed: RawBuilder<boolean>;
  deleteRecords(which: RawBuilder<boolean>): RawBuilder<object>;
}

async function noConnection(): Promise<never> {
  throw new Error('a dialect only compiles queries');
}

export const sqlite: Dialect = {
  query: new Kysely({ dialect: new SqliteDialect({ database: noConnection }) }),
  // Ids are stored as bytes, and the column of their texts has no index.
  idOrder: sql.ref('id_bytes'),
  idBound: (id) => sql`unhex(substr(${id}, 5))`,
  noId: sql`''`,
  textsOf: (json) => sql`(select value from json_each(${json}))`,
  idsOf: (json) => sql`(select value from json_each(${json}))`,
  dayOfMs: (ms) => sql`strftime('%Y-%m-%d', ${ms} / 1000, 'unixepoch')`,
  hourOfMs: (ms) => sql`strftime('%Y-%m-%dT%H:00:00Z', ${ms} / 1000, 'unixepoch')`,
  rowPlace: sql.ref('rowid'),
  forUpdate: sql``,
  forShare: sql``,
  skipLocked: sql``,
  ofNode: () => ({}),
  ownerOfAccount: sql.ref('accounts.id'),
  isOfDebit: sql`id_bytes = unhex(substr(reference, 5))`,
  entryId: sql`'led_' || lower(hex(id))`,
  otherEntries: sql`ledger_rows indexed by ledger_rows_once where account = accounts.number and kind <> ${sql.lit(debitNumber)}`,
  isUnsummed: sql`id_bytes in (select id from usage_rows where state = ${sql.lit(startedNumber)}
    union all select id from usage_rows where ${sql.raw(isHuge)})`,
  deleteRecords: (which) =>
    sql`delete from usage_rows where id in (select id_bytes from usage_records where ${which})`,
};

export const postgres: Dialect = {
  query: new Kysely({ dialect: new PostgresDialect({ pool: noConnection }) }),
  idOrder: sql.ref('id'),
  idBound: (id) => sql`${id}`,
  noId: sql`'00000000-0000-0000-0000-000000000000'::uuid`,
  textsOf: (json) => sql`(select jsonb_array_elements_text(${json}::jsonb))`,
  idsOf: (json) => sql`(select substr(text, 5)::uuid from jsonb_array_elements_text(${json}::jsonb) as text)`,
  dayOfMs: (ms) => sql`to_char(to_timestamp(${ms} / 1000) at time zone 'UTC', 'YYYY-MM-DD')`,
  hourOfMs: (ms) => sql`to_char(to_timestamp(${ms} / 1000) at time zone 'UTC', 'YYYY-MM-DD"T"HH24":00:00Z"')`,
  rowPlace: sql.ref('ctid'),
  forUpdate: sql`for update`,
  forShare: sql`for share`,
  skipLocked: sql`for update skip locked`,
  ofNode: (epoch) => ({ node_epoch: epoch }),
  ownerOfAccount: sql`'acc_' || replace(accounts.id::text, '-', '')`,
  isOfDebit: sql`usage_records.id = ledger_entries.id`,
  entryId: sql`id`,
  otherEntries: sql`ledger_entries where account_id = accounts.id and kind <> 'debit'`,
  isUnsummed: sql`(state = 'started' or ${sql.raw(isHuge)})`,
  deleteRecords: (which) => sql`delete from usage_records where ${which}`,
};

/** Whether an id is above `after`, up to `last`. */
export function isWithin(
  { idOrder, idBound }: Dialect,
  { after, last }: { readonly after: string; readonly last: string },
) {
  return sql<boolean>`${idOrder} > ${idBound(after)} and ${idOrder} <= ${idBound(last)}`;
}

/** For `idsOf`. Omits texts that cannot be ids. */
export function idList(texts: readonly string[]): string {
  return JSON.stringify(texts.filter((text) => matches(text, bounds.pageToken)));
}
