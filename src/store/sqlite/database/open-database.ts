import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { applyPending, checkKnown, type OnMigration, schemaState } from '../../migrations/migrations.ts';
import { type Connection, databaseName, prepareToWrite } from './connection.ts';
import { checkSmallTables, damaged, isDamage } from './damage.ts';
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
  readonly onMigration?: OnMigration | undefined;
}

const ownerRetryMs = 50;

/**
 * Opens the database of a data folder. The owner creates it if it is missing.
 * @throws DataInUseError if another process owns it
 * @throws StoreError, and changes nothing, if the schema is newer or too old, or it or a small table is damaged
 */
export async function openDatabase(dataDir: string, use: DatabaseUse = {}): Promise<Connection> {
  const { waitMs = 0 } = use;
  const path = privateFile(dataDir, databaseName);
  for (let waitedMs = 0; ; waitedMs += ownerRetryMs) {
    // Opens the database again each time, as an open connection would keep another process from owning it.
    const connection = new Sqlite(path);
    try {
      await setUp(connection, dataDir, use);
      return connection;
    } catch (error) {
      connection.close();
      if (isDamage(error)) throw damaged(path, error.message);
      if (!(error instanceof DataInUseError) || waitedMs >= waitMs) throw error;
    }
    await sleep(ownerRetryMs);
  }
}

async function setUp(
  connection: Connection,
  dataDir: string,
  { as = 'owner', onMigration }: DatabaseUse,
): Promise<void> {
  connection.pragma(`busy_timeout = ${openingBusyMs}`);
  checkKnown(connection);
  if (as === 'owner') {
    checkSmallTables(connection);
    connection.pragma('journal_mode = WAL');
    own(connection, dataDir);
  }
  prepareToWrite(connection);
  if (as === 'owner') await migrate(connection, onMigration);
  // The owner may be of an older version.
  else if (schemaState(connection).pending.length > 0) throw new DataInUseError(dataDir);
  connection.pragma('busy_timeout = 0');
  connection.defaultSafeIntegers(true);
}

/** All or nothing. */
async function migrate(connection: Connection, onMigration: OnMigration | undefined): Promise<void> {
  const state = schemaState(connection);
  if (state.pending.length === 0) return;
  connection.exec('begin immediate');
  try {
    await applyPending(async (text) => connection.exec(text), 'sqlite', state, onMigration);
    connection.exec('commit');
  } catch (error) {
    // After a full disk, SQLite has rolled back by itself.
    if (connection.inTransaction) connection.exec('rollback');
    throw error;
  }
}
