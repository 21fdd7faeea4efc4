import { chmodSync, constants, copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { lockDataDir, sync } from '../sqlite/data-folder.ts';
import { databaseName } from '../sqlite/database.ts';
import { BackupError, type BackupFacts, verified } from './backup.ts';

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
 * @throws DataInUseError if a server runs on the folder; BackupError; NewerSchemaError
 */
export async function restore(dataDir: string, file: string, options: RestoreOptions): Promise<Restored> {
  const lock = lockDataDir(dataDir);
  try {
    const path = join(dataDir, databaseName);
    const incoming = `${path}.incoming`;
    try {
      const facts = await bringIn(file, incoming);
      const keptAs = keepReplaced(path, options);
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

/** Copies the backup into the data folder and verifies the copy. */
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

/** Keeps the replaced database if asked, and removes its log: SQLite would take it for the log of the new one. */
function keepReplaced(path: string, { keep, nowMs }: RestoreOptions): string | undefined {
  if (!existsSync(path)) {
    removeDatabase(path);
    return undefined;
  }
  try {
    leaveWalMode(path);
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    // Its log is still needed.
    if (error.code.startsWith('SQLITE_BUSY')) {
      const who = 'another program, such as a backup';
      throw new BackupError(
        `The database ${path} is in use by ${who}. Wait until it ends, then try again.`,
        error,
      );
    }
    // It may be damaged. Then it is kept unchanged, with its log.
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

/** Moves the log into the database, so that it is one file. */
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
    // Not every file system has hard links.
    copyFileSync(from, to);
    sync(to);
  }
}

function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}
