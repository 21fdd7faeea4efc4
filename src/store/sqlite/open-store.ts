import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { sql } from 'kysely';
import type { Store, StoreObserver } from '../../core/entities/store.ts';
import { checkKnown, migrations, type OnMigration, schemaState } from '../migrations/migrations.ts';
import { step } from '../sql/job.ts';
import { statement } from '../sql/statement.ts';
import { type Connection, databaseName, prepareToRead } from './database/connection.ts';
import { OpenFiles, privateFile } from './database/data-folder.ts';
import { type DatabaseUse, openDatabase } from './database/open-database.ts';
import { disown } from './database/ownership.ts';
import { DatabaseMovedError } from './database/storage-failures.ts';
import { WriteHealth } from './database/write-health.ts';
import { sqliteStore } from './sqlite-store.ts';
import { BatchRunner } from './writer/batch-runner.ts';
import { type BatchExecutor, Writer, WriterThread } from './writer/writer.ts';

export interface StoreOptions extends DatabaseUse {
  /** Where writes run: on a separate thread, as a server needs, or on the calling thread. Default: thread */
  readonly writes?: 'thread' | 'here';
  /** Default: none. */
  readonly observer?: StoreObserver | undefined;
}

const nobody: StoreObserver = { failing: () => undefined, working: () => undefined, lost: () => undefined };

/** How long a write on the calling thread waits for another program. */
const busyMsMax = 5_000;

/** The marks of ownership: see `ownership.ts`. */
const own = statement((_: object) => mark(1));
const markUnowned = statement((_: object) => mark(0));

function mark(value: 0 | 1) {
  return sql<object>`pragma user_version = ${sql.lit(value)}`;
}

/** Opens the store of a data folder, and creates it if it is missing. @throws as `openDatabase` */
export async function openStore(
  dataDir: string,
  { observer = nobody, writes = 'thread', ...use }: StoreOptions = {},
): Promise<Store> {
  const path = privateFile(dataDir, databaseName);
  const files = new OpenFiles();
  files.add(path);
  const connection = await openDatabase(dataDir, use);
  files.add(`${path}-wal`);
  if (!files.areInPlace()) {
    // A restore has replaced the files meanwhile.
    connection.close();
    throw new DatabaseMovedError();
  }
  const health: WriteHealth = new WriteHealth({
    files,
    observer,
    probe: () => writer.run({ steps: [step(own, {})] }),
  });
  const writer = new Writer(executorFor({ connection, files, observer, writes }), health);
  const close = async () => {
    health.close();
    // Without the mark the next owner can start beside readers. If the mark cannot be removed, it must wait for them.
    if (use.as !== 'guest') await writer.run({ steps: [step(markUnowned, {})] }).catch(() => undefined);
    await writer.close();
    connection.close();
  };
  return sqliteStore({ connection, writer, health, close });
}

interface Opened extends Required<Pick<StoreOptions, 'writes'>> {
  readonly connection: Connection;
  readonly files: OpenFiles;
  readonly observer: StoreObserver;
}

function executorFor({ connection, files, observer, writes }: Opened): BatchExecutor {
  if (writes === 'here') {
    connection.pragma(`busy_timeout = ${busyMsMax}`);
    const batches = new BatchRunner(connection, files);
    // The owner of the connection closes it.
    return { run: async (batch) => batches.run(batch), close: async () => undefined };
  }
  prepareToRead(connection);
  const settings = { path: connection.name, files: files.ids };
  return new WriterThread(settings, (error) =>
    observer.lost('The writer thread of the database has ended.', error),
  );
}

/** The migrations that the next start applies to the database of a data folder. @throws NewerSchemaError */
export function pendingMigrations(dataDir: string): string[] {
  const path = join(dataDir, databaseName);
  if (!existsSync(path)) return Object.keys(migrations);
  const connection = new Sqlite(path, { readonly: true, fileMustExist: true });
  try {
    checkKnown(connection);
    return [...schemaState(connection).pending];
  } finally {
    connection.close();
  }
}

/**
 * Applies pending migrations, and returns their names. Creates the folder and the database if they are missing.
 * @throws DataInUseError; NewerSchemaError
 */
export async function migrateFolder(dataDir: string, onMigration?: OnMigration): Promise<string[]> {
  const pending = pendingMigrations(dataDir);
  const connection = await openDatabase(dataDir, { onMigration });
  disown(connection);
  connection.close();
  return pending;
}
