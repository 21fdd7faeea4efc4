import Sqlite from 'better-sqlite3';
import {
  type Compilable,
  DummyDriver,
  Kysely,
  SqliteAdapter,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { Migrator } from 'kysely/migration';
import { checkKnown } from '../migrations/applied.ts';
import { migrations } from '../migrations/index.ts';
import type { Database } from '../tables/schema.ts';
import { privateFile } from './data-dir.ts';

/** How long opening waits while another process, such as a backup, holds the database. Later none does: see GroupCommit. */
const openingBusyMs = 5_000;
/** Pages of 4 KB in the log before they are moved into the database. A page that changes often is so moved less often. */
const logPagesMax = 4_000;
/** Memory for pages of the database in KB, taken as they are read: 10,000 busy accounts touch some 30 MB. */
const cacheKbMax = 32_768;
/** The database in a data folder. */
export const databaseName = 'parley.db';

export type Connection = Sqlite.Database;

/** Builds queries; they are compiled to SQL here and run by `prepare`, not by Kysely's own connection. */
export const query = new Kysely<Database>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

/**
 * Opens the database in a data folder, made where it is missing, and brings it to the newest schema.
 * @throws NewerSchemaError where that is newer than this program; nothing of it is changed
 */
export async function openDatabase(dataDir: string): Promise<Connection> {
  const path = privateFile(dataDir, databaseName);
  const connection = new Sqlite(path);
  try {
    connection.pragma(`busy_timeout = ${openingBusyMs}`);
    checkKnown(connection);
    connection.pragma('journal_mode = WAL');
    connection.pragma('synchronous = FULL');
    connection.pragma(`wal_autocheckpoint = ${logPagesMax}`);
    connection.pragma(`cache_size = -${cacheKbMax}`);
    connection.pragma('foreign_keys = ON');
    await migrate(connection);
    connection.pragma('busy_timeout = 0');
    connection.defaultSafeIntegers(true);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** All of it or nothing: a process that is killed on the way leaves the schema that it found. */
async function migrate(connection: Connection): Promise<void> {
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: connection }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  // Kysely takes SQLite for a database whose schema cannot be changed within a transaction; it can.
  connection.exec('begin immediate');
  const { error } = await migrator.migrateToLatest();
  connection.exec(error === undefined ? 'commit' : 'rollback');
  if (error) throw error;
}

/** Stands for a parameter while a query is compiled. */
class Placeholder {
  readonly name: PropertyKey;

  constructor(name: PropertyKey) {
    this.name = name;
  }
}

export interface Prepared<Parameters, Row> {
  run(parameters: Parameters): { readonly changes: number };
  get(parameters: Parameters): Row | undefined;
  all(parameters: Parameters): Row[];
}

/**
 * Compiles a query once and keeps its prepared statement. The builder is given placeholders in the place of the
 * parameters; they find their values again by name at each run.
 */
export function prepare<Parameters extends object, Row>(
  connection: Connection,
  build: (parameters: Parameters) => Compilable<Row>,
): Prepared<Parameters, Row> {
  const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(name) }) as Parameters;
  const { sql, parameters: slots } = build(placeholders).compile();
  const statement = connection.prepare<unknown[], Row>(sql);
  const bind = (values: Parameters): unknown[] =>
    slots.map((slot) => (slot instanceof Placeholder ? (Reflect.get(values, slot.name) ?? null) : slot));
  return {
    run: (values) => statement.run(bind(values)),
    get: (values) => statement.get(bind(values)),
    all: (values) => statement.all(bind(values)),
  };
}
