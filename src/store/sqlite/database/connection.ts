/** Connections to the database. The writer thread loads this module, so it imports no query builder. */
import type Sqlite from 'better-sqlite3';

export type Connection = Sqlite.Database;

/** The file name in the data folder. */
export const databaseName = 'parley.db';

/**
 * Number of 4 KB pages in the log at which SQLite moves them into the database. A page that changes often is then moved
 * only once.
 */
const logPagesMax = 8_000;
/** Memory for pages of the database, in KB: 10,000 busy accounts touch some 30 MB. */
const writerCacheKbMax = 32_768;
/** A reader drops its pages at each commit, so a large cache would not be used. */
const readerCacheKbMax = 2_048;

/** Each commit is on the disk when it returns. */
export function prepareToWrite(connection: Connection): void {
  connection.pragma('synchronous = FULL');
  connection.pragma(`wal_autocheckpoint = ${logPagesMax}`);
  connection.pragma(`cache_size = -${writerCacheKbMax}`);
  connection.pragma('foreign_keys = ON');
}

export function prepareToRead(connection: Connection): void {
  connection.pragma('query_only = ON');
  connection.pragma(`cache_size = -${readerCacheKbMax}`);
}
