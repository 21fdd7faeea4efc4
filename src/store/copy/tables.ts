/** The tables that a copy has, and the queries that read them from either database. */

import { sql } from 'kysely';
import type { Dialect } from '../sql/dialect.ts';
import type { Database } from '../sql/schema.ts';
import { query, type Statement, statement } from '../sql/statement.ts';

/** Ids are texts, whole numbers bigints. */
export type Value = bigint | string | Uint8Array | null;
export type Row = Readonly<Record<string, Value>>;

/** Versions that caches compare, and secrets, belong to the database itself. */
type Copied = Exclude<keyof Database, 'policy' | 'secrets'>;

/** The columns of the primary keys. A table comes after those that it refers to. */
const keys: { readonly [Name in Copied]: readonly (keyof Database[Name] & string)[] } = {
  accounts: ['id'],
  subscriptions: ['account_id', 'kind'],
  api_keys: ['id'],
  ledger_entries: ['account_id', 'id'],
  limit_counts: ['owner', 'unit', 'period'],
  usage_records: ['id'],
  usage_sums: ['day', 'account_id', 'key_id', 'operation', 'model', 'state'],
  kept_answers: ['account_id', 'operation', 'key'],
  audit_entries: ['id'],
  alert_settings: ['account_id'],
  waiting_addresses: ['account_id', 'address'],
  alert_marks: ['account_id', 'kind', 'subject'],
  alerts: ['id'],
  ended_sessions: ['owner', 'session'],
};

/** Columns that only one of the databases has: for nodes, versions, reservations and its form of ids. They are not copied. */
const ownColumns = [
  ...['counted', 'node_epoch', 'policy_version', 'rate_uses', 'reserved'],
  ...['number', 'id_bytes'],
];

const rowsAtOnce = 2_000;
/** A row with an answer may have 8 MB. */
const answersAtOnce = 5;

export interface Table {
  readonly name: Copied;
  readonly count: Statement<object, number>;
  /** The first rows by their primary key. */
  readonly first: Statement<object, Row>;
  /** The rows after another one. */
  readonly after: Statement<Row, Row>;
  readonly rowsAtOnce: number;
}

export const tables = Object.entries(keys).map(([name, key]) => tableOf(name as Copied, key));

function tableOf(name: Copied, key: readonly string[]): Table {
  const size = name === 'kept_answers' ? answersAtOnce : rowsAtOnce;
  const isById = (column: string) =>
    column === 'id' && (name === 'usage_records' || name === 'ledger_entries');
  const columns = (dialect: Dialect) =>
    sql.join(key.map((column) => (isById(column) ? dialect.idOrder : sql.ref(column))));
  const values = (p: Row, dialect: Dialect) =>
    sql.join(key.map((column) => (isById(column) ? dialect.idBound(p[column]) : sql`${p[column]}`)));
  const rows = (_: object, dialect: Dialect) =>
    query
      .selectFrom(name)
      .selectAll()
      .orderBy(sql`${columns(dialect)}`)
      .limit(sql.lit(size));
  return {
    name,
    rowsAtOnce: size,
    count: statement((_: object) => query.selectFrom(name).select(sql<bigint>`count(*)`.as('count'))).map(
      ({ count }) => Number(count),
    ),
    first: statement(rows).map(copied),
    after: statement((p: Row, dialect) =>
      rows(p, dialect).where(sql<boolean>`(${columns(dialect)}) > (${values(p, dialect)})`),
    ).map(copied),
  };
}

/** A row without the columns that only its database has, in the order of the hash. */
function copied(row: object): Row {
  const values: [string, Value][] = Object.entries(row).filter(([column]) => !ownColumns.includes(column));
  return Object.fromEntries(values.sort(([one], [other]) => (one < other ? -1 : 1)));
}
