import Sqlite from 'better-sqlite3';
import { privateFile } from './data-dir.ts';

export interface DataLock {
  release(): void;
}

/** Another process has the data folder. */
export class DataInUseError extends Error {
  constructor(dataDir: string) {
    super(
      `Another Parley is running on the data folder ${dataDir}. Stop it first, or choose another folder with --data-dir or PARLEY_DATA_DIR.`,
    );
    this.name = 'DataInUseError';
  }
}

/**
 * Takes a data folder for this process, made where it is missing. The lock is a transaction on a database of its own:
 * the system gives it back however the process ends. @throws DataInUseError
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
