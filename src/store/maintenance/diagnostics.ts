/** Checks a database without writing to it, also while a server runs. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { type Diagnostic, ok, problem, warning } from '../../core/values/diagnostics.ts';
import { appliedMigrations, migrations } from '../migrations/migrations.ts';
import { databaseName } from '../sqlite/database/connection.ts';
import { damageOf, tableNames } from '../sqlite/database/damage.ts';

export interface StoreDiagnostics {
  readonly diagnostics: readonly Diagnostic[];
  /** The time of the newest request or audit entry; undefined if there is none. */
  readonly newestRecordMs: number | undefined;
}

/** Checking a table cannot be interrupted, so larger databases are not checked. */
const checkedBytesMax = 1024 ** 3;
const busyMs = 1_000;

export interface StoreDiagnosis {
  /** Stops the check of the pages between two tables. */
  readonly signal: AbortSignal;
  /** Whether to check the pages of each table, which blocks this process meanwhile. */
  readonly checksPages: boolean;
}

export async function diagnoseStore(dataDir: string, diagnosis: StoreDiagnosis): Promise<StoreDiagnostics> {
  const path = join(dataDir, databaseName);
  if (!existsSync(path)) {
    const found = `There is no ${path} yet. The first start creates it.`;
    return { diagnostics: [ok('database', found)], newestRecordMs: undefined };
  }
  try {
    const log = diagnoseLog(path);
    const connection = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: busyMs });
    try {
      const { diagnostics, ...facts } = await diagnose(connection, path, diagnosis);
      return { diagnostics: [...diagnostics, ...log], ...facts };
    } finally {
      connection.close();
    }
  } catch (error) {
    if (!(error instanceof Sqlite.SqliteError)) throw error;
    return { diagnostics: [unreadable(path, error)], newestRecordMs: undefined };
  }
}

/**
 * Finds a database in WAL mode that has no log beside it, though its owner did not close it or no table is in it: somebody copied one file of
 * two. Empty if nothing is wrong.
 */
export function diagnoseLog(path: string): Diagnostic[] {
  const log = `${path}-wal`;
  // Looked at first, as SQLite creates an empty one.
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > 0) return [];
  const connection = new Sqlite(path, { readonly: true, fileMustExist: true, timeout: 0 });
  const value = (name: string) => connection.pragma(name, { simple: true });
  try {
    if (value('journal_mode') !== 'wal') return [];
    if (tableNames(connection).length === 0) {
      const advice = 'Copy both files, or restore a backup that `parley backup` wrote.';
      return [problem('log', `${path} has no tables, and there is no ${log} that could have them.`, advice)];
    }
    if (value('user_version') === 0) return [];
    const found = `${path} comes from a server that runs or was killed, and ${log} is missing: the newest changes may be lost.`;
    const advice =
      'Copy both files, or restore a backup. A copy that SQLite made (`.backup`) is complete without it.';
    return [warning('log', found, advice)];
  } catch (error) {
    // Whoever opens the database reports that it cannot be read.
    if (error instanceof Sqlite.SqliteError) return [];
    throw error;
  } finally {
    connection.close();
  }
}

async function diagnose(
  connection: Sqlite.Database,
  path: string,
  { signal, checksPages }: StoreDiagnosis,
): Promise<StoreDiagnostics> {
  const applied = appliedMigrations(connection);
  const diagnostics = [ok('database', `${path} can be read.`), schemaDiagnostic(applied)];
  if (applied.length > 0) diagnostics.push(adminKeys(connection));
  if (checksPages) diagnostics.push(await pages(connection, path, signal));
  return { diagnostics, newestRecordMs: applied.length > 0 ? newestRecordMs(connection) : undefined };
}

function unreadable(path: string, error: InstanceType<typeof Sqlite.SqliteError>): Diagnostic {
  const isBroken = /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
  const advice = isBroken
    ? 'Stop the server and restore a backup.'
    : 'Give the file to the user that runs the server.';
  return problem('database', `${path} cannot be read (${error.code}: ${error.message}).`, advice);
}

function schemaDiagnostic(applied: readonly string[]): Diagnostic {
  const known = Object.keys(migrations);
  const unknown = applied.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const found = `A newer Parley has changed the database (${unknown}).`;
    return problem('schema', found, 'Run that version or a newer one on this data folder.');
  }
  const missing = known.filter((name) => !applied.includes(name));
  if (missing.length === 0) return ok('schema', `The schema is up to date (${known.at(-1)}).`);
  const found = `The schema lacks ${missing.join(', ')}.`;
  return warning('schema', found, 'Make a backup. The next start of this version brings it up to date.');
}

function adminKeys(connection: Sqlite.Database): Diagnostic {
  const count = connection
    .prepare<{ now: number }, { live: number }>(
      `select count(*) as live from api_keys where kind = 'admin'
         and revoked_at_ms is null and coalesce(expires_at_ms, @now + 1) > @now`,
    )
    .get({ now: Date.now() });
  const live = count?.live ?? 0;
  if (live > 0) return ok('admin keys', `There ${live === 1 ? 'is one' : `are ${live}`}.`);
  return warning(
    'admin keys',
    'There is no valid one, so nobody can manage a running server.',
    'Create one: `parley key create --admin`. The server may run.',
  );
}

/** Checks the pages table by table, so that the check can stop in between. */
async function pages(connection: Sqlite.Database, path: string, signal: AbortSignal): Promise<Diagnostic> {
  const subject = 'integrity';
  const advice = `Check a copy of it: sqlite3 ${path} ".backup copy.db"; sqlite3 copy.db "pragma quick_check"`;
  if (statSync(path).size > checkedBytesMax) {
    return warning(subject, 'The database is too large for this check (over 1 GiB).', advice);
  }
  const tables = tableNames(connection);
  for (const name of tables) {
    if (signal.aborted) return warning(subject, 'There was no time to check all tables.', advice);
    const damage = damageOf(connection, name);
    if (damage !== undefined) {
      const found = `The table ${name} is damaged: ${damage}.`;
      return problem(
        subject,
        found,
        'Stop the server, keep a copy of the data folder, and restore a backup.',
      );
    }
    await nextTurn();
  }
  if (tables.length === 0)
    return warning(subject, 'There are no tables to check.', 'See the finding before.');
  return ok(subject, `All ${tables.length} tables are intact.`);
}

/** Ids begin with their time: the last id is the newest. */
function newestRecordMs(connection: Sqlite.Database): number | undefined {
  const times = [
    connection.prepare<[], { at: number }>(
      'select started_at_ms as at from usage_records order by id desc limit 1',
    ),
    connection.prepare<[], { at: number }>(
      'select created_at_ms as at from audit_entries order by id desc limit 1',
    ),
  ].flatMap((newest) => newest.get()?.at ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}
