import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { databaseFaults } from '../maintenance/books.ts';
import { databaseName } from '../sqlite/database/connection.ts';
import { openDatabase } from '../sqlite/database/open-database.ts';
import { disown } from '../sqlite/database/ownership.ts';
import { queriesOf, Reader } from '../sqlite/database/reader.ts';
import { StoreError } from '../store-error.ts';
import type { Side } from './copy-store.ts';

/**
 * The database of a data folder, with the newest schema. No server can use the folder until `close`.
 * @param mayCreate whether to create the folder and the database if they are missing
 * @throws DataInUseError; StoreError
 */
export async function openSqliteSide(dataDir: string, mayCreate: boolean): Promise<Side> {
  const name = join(dataDir, databaseName);
  if (!mayCreate && !existsSync(name)) throw new StoreError(`There is no database ${name}.`);
  const connection = await openDatabase(dataDir);
  // All references are checked before the commit.
  connection.pragma('foreign_keys = OFF');
  connection.exec('begin immediate');
  return {
    ...queriesOf(new Reader(connection)),
    name,
    async insert({ name: table }, rows) {
      const columns = Object.keys(rows[0] ?? {});
      const names = columns.map((column) => `"${column}"`).join(', ');
      const values = columns.map(() => '?').join(', ');
      const insert = connection.prepare(`insert into ${table} (${names}) values (${values})`);
      for (const row of rows) insert.run(Object.values(row));
    },
    kept: (text) => text,
    faults: () => databaseFaults(connection),
    async commit() {
      connection.exec('commit');
    },
    async close() {
      if (connection.inTransaction) connection.exec('rollback');
      disown(connection);
      connection.close();
    },
  };
}
