/** Backups of the database, also while a server runs. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { systemCode } from '../../files/reason.ts';
import { siblingWorker } from '../../threads/pool.ts';
import { appliedMigrations, checkKnown } from '../migrations/migrations.ts';
import { databaseName } from '../sqlite/database/connection.ts';
import { sync } from '../sqlite/database/data-folder.ts';
import { StoreError } from '../store-error.ts';
import { databaseFaults } from './books.ts';

export interface BackupFacts {
  readonly bytes: number;
  /** The last migration of the database. */
  readonly schema: string;
  readonly accounts: number;
  /** The start of the newest recorded request; undefined if there is none. */
  readonly newestRecordMs: number | undefined;
}

/** Called with the steps of a backup. */
export interface BackupProgress {
  readonly copied: (bytes: number, bytesTotal: number) => void;
  readonly verifying: (what: string) => void;
}

const busyMs = 5_000;
const progressMs = 200;

/**
 * Writes the database of a data folder to a file, as of one moment. A running server goes on: in WAL mode, readers and
 * writers do not wait for each other. The file gets its name once it is complete, verified and on the disk; it is compact,
 * and only its owner can read it.
 *
 * @param mayReplace whether to replace an existing file. Default: false
 * @throws StoreError
 */
export async function backUp(
  dataDir: string,
  file: string,
  mayReplace = false,
  progress?: BackupProgress,
): Promise<BackupFacts> {
  checkTarget(dataDir, file, mayReplace);
  // A killed run may have left one. A run that goes on notices that its own is gone.
  for (const left of partialFiles(file)) rmSync(left, { force: true });
  const partial = `${file}.partial-${randomUUID()}`;
  // Stays open until the end, so that no other file can get its inode number.
  const own = openSync(partial, 'wx', 0o600);
  const isOwn = () => statSync(partial, { throwIfNoEntry: false })?.ino === fstatSync(own).ino;
  try {
    await copyDatabase(join(dataDir, databaseName), partial, progress?.copied);
    sync(partial);
    const facts = await verified(partial, partial, progress?.verifying);
    if (!isOwn()) throw new StoreError(`Another backup to ${file} has started and continues.`);
    renameSync(partial, file);
    sync(dirname(file));
    return facts;
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    closeSync(own);
  }
}

/** The ends of the names of incomplete files: those of this version, and of versions that gave all runs one name. */
const partialEnd = /^\.partial(-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$/;

function partialFiles(file: string): string[] {
  const [folder, own] = [dirname(file), basename(file)];
  return readdirSync(folder)
    .filter((name) => name.startsWith(own) && partialEnd.test(name.slice(own.length)))
    .map((name) => join(folder, name));
}

/** Refuses files in the data folder: a running server may use them. */
function checkTarget(dataDir: string, file: string, mayReplace: boolean): void {
  if (!existsSync(join(dataDir, databaseName))) {
    throw new StoreError(`There is no database in ${dataDir}. Choose the folder with --data-dir.`);
  }
  const folder = dirname(resolve(file));
  if (!existsSync(folder)) throw new StoreError(`There is no folder ${folder}. Create it first.`);
  if (realpathSync(folder) === realpathSync(dataDir)) {
    throw new StoreError(
      'A backup cannot be in the data folder of the server. Name a file in another folder.',
    );
  }
  if (!existsSync(file)) return;
  if (!statSync(file).isFile()) throw new StoreError(`${file} is not a file. Name a file in it.`);
  if (!mayReplace) throw new StoreError(`The file ${file} exists. Replace it with --force.`);
}

async function copyDatabase(path: string, target: string, copied?: BackupProgress['copied']): Promise<void> {
  try {
    const bytesTotal = bytesToCopy(path);
    const thread = new Worker(siblingWorker(import.meta.url, 'copy-thread'), {
      workerData: { path, target, busyMs },
    });
    // Another run may have removed it.
    const bytes = () => statSync(target, { throwIfNoEntry: false })?.size ?? 0;
    const show = () => copied?.(Math.min(bytes(), bytesTotal), bytesTotal);
    const timer = setInterval(show, progressMs);
    await once(thread, 'exit').finally(() => clearInterval(timer));
    copied?.(bytesTotal, bytesTotal);
  } catch (error) {
    if (!isSqliteError(error)) throw error;
    throw new StoreError(`The database ${path} cannot be copied (${error.message}).`, error);
  }
}

/** Without free pages. @throws StoreError */
function bytesToCopy(path: string): number {
  const source = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: busyMs });
  const value = (name: string) => Number(source.pragma(name, { simple: true }));
  try {
    checkKnown(source);
    return (value('page_count') - value('freelist_count')) * value('page_size');
  } finally {
    source.close();
  }
}

/** An error of a thread is a copy, of no class. */
function isSqliteError(error: unknown): error is Error {
  return error instanceof Error && /^SQLITE_/.test(systemCode(error) ?? '');
}

/** @throws StoreError if the file is not a database of Parley, is damaged, or has another schema */
export async function verified(
  file: string,
  name = file,
  onStep?: (what: string) => void,
): Promise<BackupFacts> {
  try {
    const connection = new Sqlite(file, { fileMustExist: true });
    try {
      const schema = appliedMigrations(connection).at(-1);
      if (schema === undefined) throw new StoreError(`${name} is not a database of Parley.`);
      checkKnown(connection, name);
      const faults = await databaseFaults(connection, onStep);
      if (faults.length > 0) throw new StoreError(`${name} cannot be used. ${faults.join(' ')}`);
      return { ...factsOf(connection), bytes: statSync(file).size, schema };
    } finally {
      connection.close();
    }
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    throw new StoreError(`${name} cannot be read as a database (${error.message}).`, error);
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
