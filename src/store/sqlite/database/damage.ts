/** Finds overwritten pages of a database. */
import Sqlite from 'better-sqlite3';
import { StoreError } from '../../store-error.ts';
import type { Connection } from './connection.ts';

/** The error of a database with pages that SQLite cannot read. */
export function damaged(path: string, reason: string): StoreError {
  const advice = 'Keep a copy of the data folder, and restore a backup: parley restore FILE.';
  return new StoreError(`The database ${path} is damaged (${reason}). ${advice}`);
}

export function isDamage(error: unknown): error is InstanceType<typeof Sqlite.SqliteError> {
  return error instanceof Sqlite.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** Largest checked table, in pages of 4 KB. `doctor` checks larger ones, so that opening takes milliseconds. */
const checkedPagesMax = 500;

/** @throws StoreError if the schema, a small table or one of its indexes is damaged */
export function checkSmallTables(connection: Connection): void {
  for (const name of tableNames(connection)) {
    const damage = isSmall(connection, name) ? damageOf(connection, name) : undefined;
    if (damage !== undefined) throw damaged(connection.name, `table ${name}: ${damage}`);
  }
}

export function tableNames(connection: Connection): string[] {
  return connection.prepare<[], string>("select name from sqlite_schema where type = 'table'").pluck().all();
}

/** The first fault, in one line; undefined if the table and its indexes are intact. */
export function damageOf(connection: Connection, table: string): string | undefined {
  const check = `quick_check("${table.replaceAll('"', '""')}")`;
  const result = String(connection.pragma(check, { simple: true }));
  // The output may have a title before the faults.
  return result === 'ok' ? undefined : result.split('\n').find((line) => !line.startsWith('***'));
}

function isSmall(connection: Connection, table: string): boolean {
  const pages = 'select count(*) from (select 1 from dbstat where name = ? limit ?)';
  const count = connection
    .prepare<[string, number], number>(pages)
    .pluck()
    .get(table, checkedPagesMax + 1);
  return Number(count) <= checkedPagesMax;
}
