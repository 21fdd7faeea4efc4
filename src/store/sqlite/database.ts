import { setTimeout as sleep } from 'node:timers/promises';
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
import { appliedMigrations, checkKnown, migrations } from '../migrations/migrations.ts';
import type { Database } from '../tables/schema.ts';
import { privateFile } from './data-folder.ts';
import { DataInUseError, own } from './ownership.ts';

/** How long opening waits for another process, such as a backup. Later, GroupCommit waits without blocking. */
const openingBusyMs = 5_000;
/** Pages of 4 KB in the log before SQLite moves them into the database. A page that changes often is then moved once. */
const logPagesMax = 4_000;
/** Memory for pages of the database, in KB: 10,000 busy accounts touch some 30 MB. */
const cacheKbMax = 32_768;
/** The file name in the data folder. */
export const databaseName = 'parley.db';

export type Connection = Sqlite.Database;

/** Builds and compiles queries; `prepare` runs them. */
export const query = new Kysely<Database>({
  dialect: {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  },
});

export interface DatabaseUse {
  /**
   * The owner brings the schema up to date and keeps others from owning the database. A guest uses it beside its owner, for short
   * writes. Default: owner
   */
  readonly as?: 'owner' | 'guest';
  /** How long to wait for another owner to end. Default: 0 */
  readonly waitMs?: number;
}

const ownerRetryMs = 50;

/**
 * Opens the database of a data folder. The owner creates it if it is missing.
 * @throws DataInUseError if another process owns it
 * @throws NewerSchemaError, and changes nothing, if the schema is newer than this program
 */
export async function openDatabase(
  dataDir: string,
  { as = 'owner', waitMs = 0 }: DatabaseUse = {},
): Promise<Connection> {
  const path = privateFile(dataDir, databaseName);
  for (let waitedMs = 0; ; waitedMs += ownerRetryMs) {
    // Opened anew each time: a connection that waits would keep another from owning the database.
    const connection = new Sqlite(path);
    try {
      await setUp(connection, dataDir, as);
      return connection;
    } catch (error) {
      connection.close();
      if (!(error instanceof DataInUseError) || waitedMs >= waitMs) throw error;
    }
    await sleep(ownerRetryMs);
  }
}

async function setUp(connection: Connection, dataDir: string, as: DatabaseUse['as']): Promise<void> {
  connection.pragma(`busy_timeout = ${openingBusyMs}`);
  checkKnown(connection);
  if (as === 'owner') {
    connection.pragma('journal_mode = WAL');
    own(connection, dataDir);
  }
  connection.pragma('synchronous = FULL');
  connection.pragma(`wal_autocheckpoint = ${logPagesMax}`);
  connection.pragma(`cache_size = -${cacheKbMax}`);
  connection.pragma('foreign_keys = ON');
  if (as === 'owner') await migrate(connection);
  else checkNewest(connection, dataDir);
  connection.pragma('busy_timeout = 0');
  connection.defaultSafeIntegers(true);
}

/** The owner may be of an older version. */
function checkNewest(connection: Connection, dataDir: string): void {
  if (appliedMigrations(connection).length === Object.keys(migrations).length) return;
  throw new DataInUseError(dataDir);
}

/** All or nothing: a process that is killed in between leaves the schema unchanged. */
async function migrate(connection: Connection): Promise<void> {
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: connection }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  // Kysely assumes that SQLite cannot change the schema in a transaction; it can.
  connection.exec('begin immediate');
  const { error } = await migrator.migrateToLatest();
  connection.exec(error === undefined ? 'commit' : 'rollback');
  if (error) throw error;
}

/** A parameter while a query is compiled. */
class Placeholder {
  readonly name: PropertyKey;

  constructor(name: PropertyKey) {
    this.name = name;
  }
}

interface Prepared<Parameters, Row> {
  run(parameters: Parameters): { readonly changes: number };
  get(parameters: Parameters): Row | undefined;
  all(parameters: Parameters): Row[];
}

/**
 * Compiles a query once and keeps its prepared statement. The builder gets a placeholder for each parameter; each run
 * replaces it by the value of that name, and a missing value by null.
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

/** The parameters that are named like these columns, to insert or set them. */
export function columnsOf<Row extends object, Column extends keyof Row>(
  parameters: Row,
  columns: readonly Column[],
): Pick<Row, Column> {
  const pairs = columns.map((column) => [column, parameters[column]]);
  return Object.fromEntries(pairs);
}
