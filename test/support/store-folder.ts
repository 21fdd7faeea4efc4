/** The store of a test: an SQLite database in a folder, or a PostgreSQL database. Runs of vitest differ in `PARLEY_TEST_STORE`. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { AppOverrides } from '../../src/app/create-app.ts';
import type { ConfigOverrides } from '../../src/config/config.ts';
import type { Store, StoreObserver } from '../../src/core/entities/store.ts';
import { databaseName } from '../../src/store/sqlite/database/connection.ts';
import { openStore } from '../../src/store/sqlite/open-store.ts';
import { type Books, readBooks } from './books.ts';
import type { TestDatabase } from './postgres/database.ts';
import { isFirstTier } from './tier.ts';

export const testsPostgres = process.env['PARLEY_TEST_STORE'] === 'postgres';

/**
 * Overrides for a server of the first tier, which writes without a thread: starting that takes half of the CPU time of a start. With all
 * tests, writes run in a thread, as in a server.
 */
export const writingHere: Pick<AppOverrides, 'openStore'> =
  isFirstTier && !testsPostgres
    ? { openStore: (dataDir, options) => openStore(dataDir, { ...options, writes: 'here' }) }
    : {};

const inMemory = '/dev/shm';
const bytesMin = 2 * 2 ** 30;
const disk = tmpdir();
/** Databases of the first tier are in memory if there is room, as SQLite waits for the disk after each commit. */
const usual = isFirstTier && hasRoom(inMemory) ? inMemory : disk;

function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= bytesMin;
}

export interface StoreFolder {
  /** A folder for other files, with the database of SQLite. */
  readonly path: string;
  /** Settings of a server on this store. */
  readonly settings: ConfigOverrides;
  open(options?: { readonly observer?: StoreObserver }): Promise<Store>;
  /** Reads the database as it is at this moment. */
  books(): Promise<Books>;
  /** Runs SQL as another program. */
  execute(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /**
   * Copies the database as a kill at this moment leaves it. On PostgreSQL this ends all connections to the original,
   * and nobody can connect to it again.
   */
  killed(): Promise<StoreFolder>;
  remove(): Promise<void>;
}

export async function newStoreFolder(): Promise<StoreFolder> {
  if (testsPostgres) return postgresFolder();
  const path = newFolder();
  emptyDatabase ??= makeDatabase();
  writeFileSync(join(path, databaseName), await emptyDatabase, { mode: 0o600 });
  return sqliteFolder(path);
}

/** A database with all tables, which are empty. */
let emptyDatabase: Promise<Buffer> | undefined;

async function makeDatabase(): Promise<Buffer> {
  const path = newFolder();
  const store = await openStore(path);
  await store.close();
  const database = readFileSync(join(path, databaseName));
  rmSync(path, { recursive: true });
  return database;
}

function newFolder(): string {
  const folder = tmpdir();
  // A test may have chosen another place.
  return mkdtempSync(join(folder === disk ? usual : folder, 'parley-store-'));
}

function sqliteFolder(path: string): StoreFolder {
  return {
    path,
    settings: { dataDir: path },
    open: (options) => openStore(path, options),
    books: async () => readBooks(path),
    execute: async (sql) => {
      const other = new Sqlite(join(path, 'parley.db'));
      try {
        const statement = other.prepare<[], Record<string, unknown>>(sql);
        if (statement.reader) return statement.all();
        statement.run();
        return [];
      } finally {
        other.close();
      }
    },
    killed: async () => sqliteFolder(copied(path)),
    remove: async () => rmSync(path, { recursive: true, force: true }),
  };
}

/** The database and its log, as they are on the disk between two writes. */
function copied(from: string): string {
  const to = newFolder();
  const files = ['parley.db', 'parley.db-wal'].filter((file) => existsSync(join(from, file)));
  for (const file of files) copyFileSync(join(from, file), join(to, file));
  return to;
}

/** Loads the driver and the tables only on demand. */
async function postgresFolder(given?: TestDatabase): Promise<StoreFolder> {
  const { newDatabase } = await import('./postgres/database.ts');
  const { readPostgresBooks } = await import('./postgres/books.ts');
  const { openPostgresStore } = await import('../../src/store/postgres/open-store.ts');
  const database = given ?? (await newDatabase());
  const path = newFolder();
  const { url } = database;
  return {
    path,
    settings: { dataDir: path, store: { kind: 'postgres', url } },
    open: (options) => openPostgresStore({ url, ...options }),
    books: () => readPostgresBooks(database),
    execute: (sql) => database.query(sql),
    async killed() {
      const left = await database.cutOff();
      // Its lease expires.
      await left.query('update nodes set dead = true');
      return postgresFolder(left);
    },
    async remove() {
      await database.drop();
      rmSync(path, { recursive: true, force: true });
    },
  };
}
