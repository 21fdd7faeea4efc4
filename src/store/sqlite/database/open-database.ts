import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { Kysely, SqliteDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import { appliedMigrations, checkKnown, migrations, schemaState } from '../../migrations/migrations.ts';
import { carryOver, type UpgradeProgress } from './carry-over.ts';
import { type Connection, databaseName, prepareToWrite } from './connection.ts';
import { checkSmallTables, DatabaseDamagedError } from './damage.ts';
import { privateFile } from './data-folder.ts';
import { DataInUseError, own } from './ownership.ts';

/** How long opening waits for another process, such as a backup. */
const openingBusyMs = 5_000;

export interface DatabaseUse {
  /**
   * The owner brings the schema up to date and keeps others from owning the database. A guest uses it beside its owner,
   * for short writes. Default: owner
   */
  readonly as?: 'owner' | 'guest';
  /** How long to wait for another owner to end. Default: 0 */
  readonly waitMs?: number;
  /** Called after each step of an upgrade that copies rows. Default: nothing is reported */
  readonly onUpgrade?: (progress: UpgradeProgress) => void;
}

const ownerRetryMs = 50;

/**
 * Opens the database of a data folder. The owner creates it if it is missing.
 * @throws DataInUseError if another process owns it
 * @throws NewerSchemaError, and changes nothing, if the schema is newer than this program
 * @throws DatabaseDamagedError, and changes nothing, if the schema or a small table is damaged
 */
export async function openDatabase(
  dataDir: string,
  { as = 'owner', waitMs = 0, onUpgrade = () => undefined }: DatabaseUse = {},
): Promise<Connection> {
  const path = privateFile(dataDir, databaseName);
  for (let waitedMs = 0; ; waitedMs += ownerRetryMs) {
    // Opens the database again each time, as an open connection would keep another process from owning it.
    const connection = new Sqlite(path);
    try {
      await setUp(connection, dataDir, { as, onUpgrade });
      return connection;
    } catch (error) {
      connection.close();
      if (isDamage(error)) throw new DatabaseDamagedError(path, error.message);
      if (!(error instanceof DataInUseError) || waitedMs >= waitMs) throw error;
    }
    await sleep(ownerRetryMs);
  }
}

function isDamage(error: unknown): error is InstanceType<typeof Sqlite.SqliteError> {
  return error instanceof Sqlite.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

async function setUp(
  connection: Connection,
  dataDir: string,
  { as, onUpgrade }: Required<Pick<DatabaseUse, 'as' | 'onUpgrade'>>,
): Promise<void> {
  connection.pragma(`busy_timeout = ${openingBusyMs}`);
  checkKnown(connection);
  if (as === 'owner') {
    checkSmallTables(connection);
    connection.pragma('journal_mode = WAL');
    own(connection, dataDir);
  }
  prepareToWrite(connection);
  if (as === 'owner') await migrate(connection, onUpgrade);
  else checkNewest(connection, dataDir);
  connection.pragma('busy_timeout = 0');
  connection.defaultSafeIntegers(true);
}

/** The owner may be of an older version. */
function checkNewest(connection: Connection, dataDir: string): void {
  if (appliedMigrations(connection).length === Object.keys(migrations).length) return;
  throw new DataInUseError(dataDir);
}

/** A process that is killed in between leaves the schema as it was, or all rows where they were and a part of them copied. */
async function migrate(
  connection: Connection,
  onUpgrade: (progress: UpgradeProgress) => void,
): Promise<void> {
  const { pending } = schemaState(connection);
  if (pending.length === 0) return;
  if (pending.includes('0013-text-views')) {
    await migrateTo(connection, '0012-integer-rows');
    await carryOver(connection, onUpgrade);
  }
  await migrateTo(connection, Object.keys(migrations).at(-1) ?? '');
}

/** All or nothing. */
async function migrateTo(connection: Connection, name: string): Promise<void> {
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: connection }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  // Kysely assumes that SQLite cannot change the schema in a transaction; it can.
  connection.exec('begin immediate');
  const { error } = await migrator.migrateTo(name);
  connection.exec(error === undefined ? 'commit' : 'rollback');
  if (error) throw error;
}
