import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { databaseFaults } from '../maintenance/verify.ts';
import { type Connection, databaseName } from '../sqlite/database/connection.ts';
import { openDatabase } from '../sqlite/database/open-database.ts';
import { disown } from '../sqlite/database/ownership.ts';
import { batchesOf, CopyError, type Row, type Side, type Table, type Value } from './side.ts';

const quoted = (name: string) => `"${name}"`;
const list = (names: readonly string[]) => names.map(quoted).join(', ');

/**
 * The database of a data folder, with the newest schema. No server can use the folder until `close`.
 * @param mayCreate whether to create the folder and the database if they are missing
 * @throws DataInUseError; NewerSchemaError; CopyError if the database is missing
 */
export async function openSqliteSide(dataDir: string, mayCreate: boolean): Promise<Side> {
  const path = join(dataDir, databaseName);
  if (!mayCreate && !existsSync(path)) throw new CopyError(`There is no database ${path}.`);
  const connection = await openDatabase(dataDir);
  // All references are checked before the commit.
  connection.pragma('foreign_keys = OFF');
  connection.exec('begin immediate');
  return new SqliteSide(path, connection);
}

class SqliteSide implements Side {
  readonly name: string;
  readonly #connection: Connection;

  constructor(name: string, connection: Connection) {
    this.name = name;
    this.#connection = connection;
  }

  async tables(): Promise<readonly Table[]> {
    const names = this.#connection
      .prepare<[], string>(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite%' order by name",
      )
      .pluck()
      .all();
    return names.map((name) => {
      const columns = this.#connection.pragma(`table_info(${quoted(name)})`) as ColumnInfo[];
      const key = columns.filter(({ pk }) => pk > 0n).sort((one, other) => Number(one.pk - other.pk));
      return { name, columns: columns.map((column) => column.name), key: key.map((column) => column.name) };
    });
  }

  async count({ name }: Table): Promise<number> {
    const count = this.#connection
      .prepare<[], bigint>(`select count(*) from ${quoted(name)}`)
      .pluck()
      .get();
    return Number(count);
  }

  async *rows({ name, columns, key }: Table): AsyncIterable<readonly Row[]> {
    const rows = this.#connection.prepare<[], Row>(
      `select ${list(columns)} from ${quoted(name)} order by ${list(key)}`,
    );
    yield* batchesOf(rows.raw().iterate());
  }

  async insert({ name, columns }: Table, rows: readonly Row[]): Promise<void> {
    const values = columns.map(() => '?').join(', ');
    const insert = this.#connection.prepare<Value[]>(
      `insert into ${quoted(name)} (${list(columns)}) values (${values})`,
    );
    for (const row of rows) insert.run(...row);
  }

  async firstRecordMs(): Promise<number | undefined> {
    const first = this.#connection.prepare<[], bigint>(
      'select started_at_ms from usage_records order by id limit 1',
    );
    const ms = first.pluck().get();
    return ms === undefined ? undefined : Number(ms);
  }

  kept(text: string): string {
    return text;
  }

  faults = (): Promise<readonly string[]> => databaseFaults(this.#connection);

  async commit(): Promise<void> {
    this.#connection.exec('commit');
  }

  async close(): Promise<void> {
    if (this.#connection.inTransaction) this.#connection.exec('rollback');
    disown(this.#connection);
    this.#connection.close();
  }
}

interface ColumnInfo {
  readonly name: string;
  /** The place in the primary key, from 1. */
  readonly pk: bigint;
}
