/** Checks a database without writing to it, also while a server runs. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { schemaState } from '../migrations/migrations.ts';
import { databaseName } from '../sqlite/database/connection.ts';
import { damageOf, tableNames } from '../sqlite/database/damage.ts';
import { queriesOf, Reader } from '../sqlite/database/reader.ts';
import { diagnoseContents } from './shared-diagnostics.ts';

/** A check of a table cannot be interrupted, so larger databases are not checked. */
const checkedBytesMax = 1024 ** 3;
const busyMs = 1_000;

export interface StoreDiagnosis {
  /** Stops checking pages, between two tables. */
  readonly signal: AbortSignal;
  /** Whether to check the pages of each table, which blocks this process meanwhile. */
  readonly checksPages: boolean;
  /** Called before the check of each table. */
  readonly onTable?: ((name: string, place: string) => void) | undefined;
}

export async function diagnoseStore(
  dataDir: string,
  { signal, checksPages, onTable }: StoreDiagnosis,
): Promise<Diagnostic[]> {
  const path = join(dataDir, databaseName);
  if (!existsSync(path)) {
    const found = `There is no ${path} yet. The first start creates it.`;
    return [ok('database', found)];
  }
  try {
    const log = diagnoseLog(path);
    const connection = openReadOnly(path, busyMs);
    try {
      const schema = schemaState(connection);
      connection.defaultSafeIntegers(true);
      const contents = await diagnoseContents(schema, queriesOf(new Reader(connection)));
      const integrity = checksPages ? [await diagnosePages(connection, path, { signal, onTable })] : [];
      const readable = ok('database', `${path} can be read.`);
      return [readable, ...contents, ...integrity, ...log];
    } finally {
      connection.close();
    }
  } catch (error) {
    const reason = error instanceof ParleyError ? error.cause : error;
    if (!(reason instanceof Sqlite.SqliteError)) throw error;
    return [unreadable(path, reason)];
  }
}

/**
 * Finds a database in WAL mode without its log, though its owner did not close it, or though it has no tables: somebody
 * copied only one of the two files. Empty if nothing is wrong.
 */
export function diagnoseLog(path: string): Diagnostic[] {
  const log = `${path}-wal`;
  // Checked first, as SQLite creates an empty log.
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0) return [];
  const connection = openReadOnly(path, 0);
  const value = (name: string) => connection.pragma(name, { simple: true });
  try {
    if (value('journal_mode') !== 'wal') return [];
    if (tableNames(connection).length === 0) {
      const found = `${path} has no tables, and ${log}, which could have them, is missing.`;
      return [problem('log', found, 'Copy both files, or restore a backup that `parley backup` wrote.')];
    }
    if (value('user_version') === 0) return [];
    const found = `${path} comes from a server that runs or was killed, and ${log} is missing: the newest changes may be lost.`;
    const advice =
      'Copy both files, or restore a backup. A copy that SQLite made (`.backup`) is complete without it.';
    return [warning('log', found, advice)];
  } catch (error) {
    // The caller opens the database, and reports that it cannot be read.
    if (error instanceof Sqlite.SqliteError) return [];
    throw error;
  } finally {
    connection.close();
  }
}

function openReadOnly(path: string, timeout: number): Sqlite.Database {
  return new Sqlite(path, { readonly: true, fileMustExist: true, timeout });
}

function unreadable(path: string, error: InstanceType<typeof Sqlite.SqliteError>): Diagnostic {
  const isBroken = /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
  const advice = isBroken
    ? 'Stop the server and restore a backup.'
    : 'Give the file to the user that runs the server.';
  return problem('database', `${path} cannot be read (${error.code}: ${error.message}).`, advice);
}

/** Checks the pages table by table, so that the check can stop in between. */
async function diagnosePages(
  connection: Sqlite.Database,
  path: string,
  { signal, onTable }: Pick<StoreDiagnosis, 'signal' | 'onTable'>,
): Promise<Diagnostic> {
  const advice = `Check a copy of it: sqlite3 ${path} ".backup copy.db"; sqlite3 copy.db "pragma quick_check"`;
  const unchecked = (found: string) => warning('integrity', found, advice);
  if (statSync(path).size > checkedBytesMax) {
    return unchecked('The database is too large for this check (over 1 GiB).');
  }
  const tables = tableNames(connection);
  for (const [at, name] of tables.entries()) {
    onTable?.(name, `${at + 1} of ${tables.length}`);
    if (signal.aborted) return unchecked('There was no time to check all tables.');
    const damage = damageOf(connection, name);
    if (damage !== undefined) {
      const restore = 'Stop the server, keep a copy of the data folder, and restore a backup.';
      return problem('integrity', `The table ${name} is damaged: ${damage}.`, restore);
    }
    await nextTurn();
  }
  if (tables.length > 0) return ok('integrity', `All ${tables.length} tables are intact.`);
  return warning('integrity', 'There are no tables to check.', 'See the finding before.');
}
