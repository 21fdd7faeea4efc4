/** Backups of the database, also while a server runs. */
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Sqlite from 'better-sqlite3';
import { appliedMigrations, checkKnown } from '../migrations/migrations.ts';
import { databaseName } from '../sqlite/database/connection.ts';
import { sync } from '../sqlite/database/data-folder.ts';
import { databaseFaults } from './books.ts';

/** A backup or restore failed. The message is for the person who runs it. */
export class BackupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'BackupError';
  }
}

export interface BackupFacts {
  readonly bytes: number;
  /** The last migration of the database. */
  readonly schema: string;
  readonly accounts: number;
  /** The start of the newest recorded request; undefined if there is none. */
  readonly newestRecordMs: number | undefined;
}

const busyMs = 5_000;

/**
 * Writes the database of a data folder to a file, as of one moment. A running server goes on: in WAL mode, readers and
 * writers do not wait for each other. The file gets its name once it is complete, verified and on the disk; it is compact,
 * and only its owner can read it.
 *
 * @param mayReplace whether to replace an existing file. Default: false
 * @throws BackupError; NewerSchemaError
 */
export async function backUp(dataDir: string, file: string, mayReplace = false): Promise<BackupFacts> {
  checkTarget(dataDir, file, mayReplace);
  const partial = `${file}.partial`;
  // A killed run may have left one.
  rmSync(partial, { force: true });
  // Stays open until the end, so that no other file can get its inode number.
  const own = openSync(partial, 'wx', 0o600);
  const isOwn = () => statSync(partial, { throwIfNoEntry: false })?.ino === fstatSync(own).ino;
  try {
    copyDatabase(join(dataDir, databaseName), partial);
    sync(partial);
    const facts = await verified(partial);
    if (!isOwn()) throw new BackupError(`Another backup to ${file} has started and continues.`);
    renameSync(partial, file);
    sync(dirname(file));
    return facts;
  } catch (error) {
    if (isOwn()) rmSync(partial);
    throw error;
  } finally {
    closeSync(own);
  }
}

/** Refuses files in the data folder: a running server may use them. */
function checkTarget(dataDir: string, file: string, mayReplace: boolean): void {
  if (!existsSync(join(dataDir, databaseName))) {
    throw new BackupError(`There is no database in ${dataDir}. Choose the folder with --data-dir.`);
  }
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) throw new BackupError(`There is no folder ${folder}. Create it first.`);
  if (realpathSync(folder) === realpathSync(dataDir)) {
    throw new BackupError(
      'A backup cannot be in the data folder of the server. Name a file in another folder.',
    );
  }
  if (!existsSync(file)) return;
  if (!statSync(file).isFile()) throw new BackupError(`${file} is not a file. Name a file in it.`);
  if (!mayReplace) throw new BackupError(`The file ${file} exists. Replace it with --force.`);
}

function copyDatabase(path: string, target: string): void {
  try {
    const source = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: busyMs });
    try {
      checkKnown(source);
      // One statement reads one moment. SQLite's backup API is not faster, and also copies free pages.
      source.prepare('vacuum into ?').run(target);
    } finally {
      source.close();
    }
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    throw new BackupError(`The database ${path} cannot be copied (${error.message}).`, error);
  }
}

/** @throws BackupError if the file is not a database of Parley, or is damaged; NewerSchemaError */
export async function verified(file: string, name = file): Promise<BackupFacts> {
  try {
    const connection = new Sqlite(file, { fileMustExist: true });
    try {
      const schema = appliedMigrations(connection).at(-1);
      if (schema === undefined) throw new BackupError(`${name} is not a database of Parley.`);
      checkKnown(connection, name);
      const faults = await databaseFaults(connection);
      if (faults.length > 0) throw new BackupError(`${name} cannot be used. ${faults.join(' ')}`);
      return { ...factsOf(connection), bytes: statSync(file).size, schema };
    } finally {
      connection.close();
    }
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    throw new BackupError(`${name} cannot be read as a database (${error.message}).`, error);
  }
}

function factsOf(connection: Sqlite.Database): Pick<BackupFacts, 'accounts' | 'newestRecordMs'> {
  const accounts = connection.prepare<[], number>('select count(*) from accounts').pluck().get() ?? 0;
  const newestRecordMs = connection
    .prepare<[], number | null>('select max(started_at_ms) from usage_records')
    .pluck()
    .get();
  return { accounts, newestRecordMs: newestRecordMs ?? undefined };
}
