import { chmodSync, constants, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { lockDataDir, sync } from '../sqlite/data-folder.ts';
import { databaseName } from '../sqlite/database.ts';
import { BackupError, type BackupFacts, verified } from './backup.ts';

export interface Restored extends BackupFacts {
  /** Where the database that was replaced is kept; undefined where there was none, or it was not to be kept. */
  readonly keptAs: string | undefined;
}

export interface RestoreOptions {
  /** Whether the replaced database is kept beside the new one. */
  readonly keep: boolean;
  readonly nowMs: number;
}

/**
 * Puts a backup in the place of the database of a data folder, which is made where it is missing. At every moment there is one or
 * the other, whole. What the backup had running is released at the next start, which brings an older schema up to date, too.
 * @throws DataInUseError where a server runs on the folder; BackupError; NewerSchemaError
 */
export async function restore(dataDir: string, file: string, options: RestoreOptions): Promise<Restored> {
  const lock = lockDataDir(dataDir);
  try {
    const path = join(dataDir, databaseName);
    const incoming = `${path}.incoming`;
    try {
      const facts = await bringIn(file, incoming);
      const keptAs = setAside(path, options);
      renameSync(incoming, path);
      sync(dataDir);
      return { ...facts, keptAs };
    } finally {
      removeDatabase(incoming);
    }
  } finally {
    lock.release();
  }
}

/** A private copy in the data folder, so that what is verified is what is put in place. */
async function bringIn(file: string, incoming: string): Promise<BackupFacts> {
  if (!existsSync(file)) throw new BackupError(`There is no file ${file}.`);
  removeDatabase(incoming);
  copyFileSync(file, incoming, constants.COPYFILE_FICLONE);
  chmodSync(incoming, 0o600);
  const facts = await verified(incoming, file);
  leaveWalMode(incoming);
  sync(incoming);
  return facts;
}

/** A log beside the database that is replaced would be taken for one of the new database: nothing may be left in it. */
function setAside(path: string, { keep, nowMs }: RestoreOptions): string | undefined {
  if (!existsSync(path)) {
    removeDatabase(path);
    return undefined;
  }
  try {
    leaveWalMode(path);
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    // Without its log it would not be whole any more, and the new one is not in its place yet.
    if (error.code.startsWith('SQLITE_BUSY')) {
      const who = 'another program, such as a backup';
      throw new BackupError(`The database ${path} is in use by ${who}. Let it end, and try again.`, error);
    }
    // Being damaged may be why it is replaced. Then it is kept as it is, with its log.
  }
  const keptAs = keep ? `${path}.replaced-${new Date(nowMs).toISOString().replace(/[:.]/g, '-')}` : undefined;
  if (keptAs !== undefined) {
    linkOrCopy(path, keptAs);
    if (existsSync(`${path}-wal`)) linkOrCopy(`${path}-wal`, `${keptAs}-wal`);
  }
  rmSync(`${path}-wal`, { force: true });
  rmSync(`${path}-shm`, { force: true });
  return keptAs;
}

/** Brings what the log has into the database, so that it is one file. */
function leaveWalMode(path: string): void {
  const connection = new Sqlite(path, { fileMustExist: true });
  try {
    connection.pragma('journal_mode = delete');
  } finally {
    connection.close();
  }
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    // Not every file system has links.
    copyFileSync(from, to);
    sync(to);
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}
