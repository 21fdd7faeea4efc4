import { chmodSync, constants, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { makeFolder } from '../../files/folders.ts';
import { type Connection, databaseName } from '../sqlite/database/connection.ts';
import { sync } from '../sqlite/database/data-folder.ts';
import { own } from '../sqlite/database/ownership.ts';
import { StoreError } from '../store-error.ts';
import { type BackupFacts, verified } from './backup.ts';

interface Restored extends BackupFacts {
  /** The new path of the replaced database; undefined if there was none, or it was not kept. */
  readonly keptAs: string | undefined;
}

interface RestoreOptions {
  /** Whether to keep the replaced database beside the new one. */
  readonly keep: boolean;
  readonly nowMs: number;
}

/**
 * Replaces the database of a data folder by a backup, and creates the folder if it is missing. At every moment, one of the
 * two is in place and complete. The next start releases open requests of the backup and upgrades an older schema.
 * @throws DataInUseError if a server runs on the folder; StoreError
 */
export async function restore(dataDir: string, file: string, options: RestoreOptions): Promise<Restored> {
  makeFolder(dataDir, 0o700);
  const path = join(dataDir, databaseName);
  const incoming = `${path}.incoming`;
  const replaced = takeReplaced(path, dataDir);
  try {
    const facts = await bringIn(file, incoming);
    const keptAs = keepReplaced(path, replaced, options);
    renameSync(incoming, path);
    sync(dataDir);
    return { ...facts, keptAs };
  } finally {
    // Until here the lock keeps servers from starting on it.
    replaced?.close();
    removeDatabase(incoming);
  }
}

/** Takes ownership of the database that is replaced. Undefined if there is none, or it is damaged. @throws DataInUseError */
function takeReplaced(path: string, dataDir: string): Connection | undefined {
  if (!existsSync(path)) return undefined;
  const connection = new Sqlite(path, { fileMustExist: true });
  try {
    connection.pragma('journal_mode = WAL');
    own(connection, dataDir);
    return connection;
  } catch (error) {
    connection.close();
    if (error instanceof Sqlite.SqliteError && !error.code.startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
}

/** Copies the backup into the data folder and verifies the copy. */
async function bringIn(file: string, incoming: string): Promise<BackupFacts> {
  if (!existsSync(file)) throw new StoreError(`There is no file ${file}.`);
  removeDatabase(incoming);
  copyFileSync(file, incoming, constants.COPYFILE_FICLONE);
  chmodSync(incoming, 0o600);
  const facts = await verified(incoming, file);
  const restored = new Sqlite(incoming, { fileMustExist: true });
  try {
    leaveWalMode(restored, incoming);
  } finally {
    restored.close();
  }
  sync(incoming);
  return facts;
}

/** Keeps the replaced database if asked, and removes its log: SQLite would take it for the log of the new one. */
function keepReplaced(
  path: string,
  replaced: Connection | undefined,
  { keep, nowMs }: RestoreOptions,
): string | undefined {
  if (!existsSync(path)) {
    removeDatabase(path);
    return undefined;
  }
  // A damaged database is kept unchanged, with its log.
  if (replaced !== undefined) leaveWalMode(replaced, path);
  const keptAs = keep ? `${path}.replaced-${new Date(nowMs).toISOString().replace(/[:.]/g, '-')}` : undefined;
  if (keptAs !== undefined) {
    linkOrCopy(path, keptAs);
    if (existsSync(`${path}-wal`)) linkOrCopy(`${path}-wal`, `${keptAs}-wal`);
  }
  rmSync(`${path}-wal`, { force: true });
  rmSync(`${path}-shm`, { force: true });
  return keptAs;
}

/** Moves the log into the database file, and locks that until the connection closes. */
function leaveWalMode(connection: Connection, path: string): void {
  try {
    connection.pragma('journal_mode = delete');
    connection.exec('begin exclusive');
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError) || !error.code.startsWith('SQLITE_BUSY')) throw error;
    const who = 'another program, such as a backup';
    throw new StoreError(
      `The database ${path} is in use by ${who}. Wait until it ends, then try again.`,
      error,
    );
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // Not every file system has hard links.
    copyFileSync(from, to);
    sync(to);
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}
