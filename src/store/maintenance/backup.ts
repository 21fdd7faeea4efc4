/** Copies of the database, taken while a server writes it or not, and put in its place again. */
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
import { sync } from '../sqlite/data-folder.ts';
import { databaseName } from '../sqlite/database.ts';
import { databaseFaults } from './verify.ts';

/** What cannot be backed up or restored, in words for the person who wanted it. */
export class BackupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'BackupError';
  }
}

export interface BackupFacts {
  readonly bytes: number;
  /** The last migration that the database has had. */
  readonly schema: string;
  readonly accounts: number;
  /** When the newest request of which there is a record began; undefined where there is none. */
  readonly newestRecordMs: number | undefined;
}

const busyMs = 5_000;

/**
 * Writes the database of a data folder to a file, as of one moment: what is committed by then is in it, and nothing else. A
 * server that runs is neither asked nor stopped: readers and writers of a database in WAL mode do not wait for each other. The file
 * is compact, in one piece, private, on the disk and verified before it has its name.
 *
 * @param mayReplace whether a file of that name is replaced. Default: false
 * @throws BackupError; NewerSchemaError
 */
export async function backUp(dataDir: string, file: string, mayReplace = false): Promise<BackupFacts> {
  checkTarget(dataDir, file, mayReplace);
  const partial = `${file}.partial`;
  // One that an earlier run has left behind when it was ended.
  rmSync(partial, { force: true });
  // Open until the end, so that no other file can have its number.
  const own = openSync(partial, 'wx', 0o600);
  const isOwn = () => statSync(partial, { throwIfNoEntry: false })?.ino === fstatSync(own).ino;
  try {
    copyDatabase(join(dataDir, databaseName), partial);
    sync(partial);
    const facts = await verified(partial);
    if (!isOwn()) throw new BackupError(`Another backup to ${file} has begun meanwhile, and goes on.`);
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

/** The file must be another than those that a server uses: one of these would be replaced under its hands. */
function checkTarget(dataDir: string, file: string, mayReplace: boolean): void {
  if (!existsSync(join(dataDir, databaseName))) {
    throw new BackupError(`There is no database in ${dataDir}. Name the right folder with --data-dir.`);
  }
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) throw new BackupError(`There is no folder ${folder}. Make it first.`);
  if (realpathSync(folder) === realpathSync(dataDir)) {
    throw new BackupError(
      'The backup would be among the files of the server. Name a file in another folder.',
    );
  }
  if (!existsSync(file)) return;
  if (!statSync(file).isFile()) throw new BackupError(`${file} is not a file. Name one in it.`);
  if (!mayReplace) throw new BackupError(`There is a file ${file} already. Replace it with --force.`);
}

function copyDatabase(path: string, target: string): void {
  try {
    const source = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: busyMs });
    try {
      checkKnown(source);
      // One statement reads one moment. SQLite's backup in steps is no faster, and copies what is free, too.
      source.prepare('vacuum into ?').run(target);
    } finally {
      source.close();
    }
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    throw new BackupError(`The database ${path} cannot be copied (${error.message}).`, error);
  }
}

/** @throws BackupError where the file is no database of Parley, or a damaged one; NewerSchemaError */
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
    .prepare<[], number>('select started_at_ms from usage_records order by id desc limit 1')
    .pluck()
    .get();
  return { accounts, newestRecordMs };
}
