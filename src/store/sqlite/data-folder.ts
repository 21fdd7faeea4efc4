/** The files of a data folder. */
import { chmodSync, closeSync, fsyncSync, openSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { makeFolder } from '../../files/make-folder.ts';

/**
 * Creates a file that only its owner can read, and the folder if it is missing. Returns the path. SQLite gives its
 * companion files the mode of the database.
 */
export function privateFile(dataDir: string, name: string): string {
  makeFolder(dataDir, 0o700);
  const path = join(dataDir, name);
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  return path;
}

/** Returns once a file, or the names in a folder, are on the disk. */
export function sync(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

interface DataLock {
  release(): void;
}

/** Another process uses the data folder. */
export class DataInUseError extends Error {
  constructor(dataDir: string) {
    super(
      `Another Parley is running on the data folder ${dataDir}. Stop it first, or choose another folder with --data-dir or PARLEY_DATA_DIR.`,
    );
    this.name = 'DataInUseError';
  }
}

/**
 * Locks a data folder for this process, and creates it if it is missing. The lock is a transaction on a separate
 * database, so the system releases it when the process ends, however it ends. @throws DataInUseError
 */
export function lockDataDir(dataDir: string): DataLock {
  const connection = new Sqlite(privateFile(dataDir, 'lock.db'), { timeout: 0 });
  try {
    connection.exec('begin exclusive');
  } catch (error) {
    connection.close();
    if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY'))
      throw new DataInUseError(dataDir);
    throw error;
  }
  return {
    release: () => {
      connection.exec('rollback');
      connection.close();
    },
  };
}
