/**
 * One process owns a database. The lock is on the database file itself: every open connection holds a shared lock,
 * which the system releases when the process ends or is killed. A database that can be locked exclusively has no owner,
 * even if it has a mark. While other programs read it, such as a backup, the mark decides.
 */
import Sqlite from 'better-sqlite3';

/** How long others may read or write a mark before ownership counts as refused. */
const markBusyMs = 5_000;

/** Another process owns the database. */
export class DataInUseError extends Error {
  constructor(dataDir: string) {
    super(
      `Another Parley is running on the data folder ${dataDir}. Stop it first, or choose another folder with --data-dir or PARLEY_DATA_DIR. If none runs, one was killed and another program, such as a backup, still reads its database: wait until that ends.`,
    );
    this.name = 'DataInUseError';
  }
}

/**
 * Makes a connection in WAL mode the owner of its database until it closes, and sets its busy timeout to 0.
 * @throws DataInUseError, also if a program reads a database whose owner was killed
 */
export function own(connection: Sqlite.Database, dataDir: string): void {
  if (!markAlone(connection) && !markBesideReaders(connection)) throw new DataInUseError(dataDir);
}

/** Removes the mark, so that the next owner can start beside readers. */
export function disown(connection: Sqlite.Database): void {
  setMark(connection, 0);
}

/** SQLite does not use `user_version`, and readers ignore it. Writing it reaches the disk even if it does not change. */
export function setMark(connection: Sqlite.Database, mark: 0 | 1): void {
  connection.pragma(`user_version = ${mark}`);
}

function hasMark(connection: Sqlite.Database): boolean {
  return Number(connection.pragma('user_version', { simple: true })) !== 0;
}

/** Locks the database exclusively. The commit turns that lock into a shared one without a gap. */
function markAlone(connection: Sqlite.Database): boolean {
  // Opens the log first: in exclusive mode SQLite would hide its index from other connections.
  hasMark(connection);
  connection.pragma('busy_timeout = 0');
  connection.pragma('locking_mode = exclusive');
  const isAlone = begin(connection);
  connection.pragma('locking_mode = normal');
  if (isAlone) commitMark(connection);
  return isAlone;
}

function markBesideReaders(connection: Sqlite.Database): boolean {
  if (hasMark(connection)) return false;
  connection.pragma(`busy_timeout = ${markBusyMs}`);
  const hasBegun = begin(connection);
  connection.pragma('busy_timeout = 0');
  if (!hasBegun) return false;
  if (!hasMark(connection)) {
    commitMark(connection);
    return true;
  }
  connection.exec('rollback');
  return false;
}

function commitMark(connection: Sqlite.Database): void {
  setMark(connection, 1);
  connection.exec('commit');
}

/** False if another connection holds the lock. */
function begin(connection: Sqlite.Database): boolean {
  try {
    connection.exec('begin immediate');
    return true;
  } catch (error) {
    if (error instanceof Sqlite.SqliteError && error.code.startsWith('SQLITE_BUSY')) return false;
    throw error;
  }
}
