import { Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { Pool, QueryResult } from 'pg';
import {
  announced,
  checkSchema,
  compared,
  forgetFormer,
  type OnMigration,
  postgresMigrations,
  type SchemaState,
} from '../migrations/migrations.ts';
import { openPool } from './database/connection.ts';
import { DatabaseUnusableError, isRefused } from './database/storage-failures.ts';

const tableExists = 'select to_regclass($1) is not null as exists';
const appliedNames = 'select name from kysely_migration order by name';
const neededNames = 'select name from needed_migrations order by name';

type Migrations = Readonly<Record<string, Migration>>;

/** A pool or a single connection. */
interface Database {
  query(sql: string, values?: unknown[]): Promise<QueryResult>;
}

/** Reads the name of the database and its migrations. @param migrations of this program */
export async function schemaState(
  database: Database,
  migrations: Migrations = postgresMigrations,
): Promise<SchemaState & { readonly name: string }> {
  const namesIn = async (table: string, sql: string): Promise<string[]> => {
    if (!(await database.query(tableExists, [table])).rows[0].exists) return [];
    return (await database.query(sql)).rows.map(({ name }) => name);
  };
  const { name } = (await database.query('select current_database() as name')).rows[0];
  const applied = await namesIn('kysely_migration', appliedNames);
  const pending = Object.keys(migrations).filter((name) => !applied.includes(name));
  // A program that lacks earlier migrations must not apply its own after them.
  const blocking = pending.length > 0 ? applied : await namesIn('needed_migrations', neededNames);
  return { name, ...compared(migrations, applied, blocking) };
}

/**
 * Brings the schema up to date, all or nothing, and returns the names of the migrations that it applied. Programs that start at once do
 * so one after the other. A newer schema stays as it is.
 * @throws NewerSchemaError, OlderSchemaError, and changes nothing, if the schema is too new or too old for this program
 */
export async function migrate(
  pool: Pool,
  migrations: Migrations = postgresMigrations,
  onMigration?: OnMigration,
): Promise<string[]> {
  const { name, ...schema } = await schemaState(pool, migrations);
  checkSchema(schema, name);
  if (schema.pending.length === 0) return [];
  // Without `destroy`, which would end the pool.
  const db = new Kysely<unknown>({ dialect: new MigratingDialect({ pool }) });
  return db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(lockId)})`.execute(transaction);
    if (schema.applied.length > 0) await sql.raw(forgetFormer).execute(transaction);
    const provider = { getMigrations: async () => announced(migrations, schema, onMigration) };
    const { error, results = [] } = await new Migrator({ db: transaction, provider }).migrateToLatest();
    if (error) throw error;
    return results.map(({ migrationName }) => migrationName);
  });
}

/** Key of the advisory lock. Nothing else in this database uses it. */
const lockId = 5_577_006_791_947n;

/**
 * Kysely's own lock belongs to the connection, and stays behind on a pooler that lends connections for one transaction.
 * The lock of `migrate` ends with the transaction.
 */
class LockedAdapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}

  override async releaseMigrationLock(): Promise<void> {}
}

class MigratingDialect extends PostgresDialect {
  override createAdapter(): PostgresAdapter {
    return new LockedAdapter();
  }
}

/**
 * Brings a database to the schema of this program, over a separate connection. Returns the names of the applied migrations.
 * @param isDry whether to change nothing, and return the pending migrations
 * @throws NewerSchemaError; OlderSchemaError; DatabaseUnusableError
 */
export async function migrateUrl(
  url: string,
  isDry = false,
  onMigration?: OnMigration,
): Promise<readonly string[]> {
  const pool = openPool({ url, connectionsMax: 1, name: 'parley migrate', mayTakeLong: true });
  try {
    if (!isDry) return await migrate(pool, postgresMigrations, onMigration);
    const schema = await schemaState(pool);
    checkSchema(schema, schema.name);
    return schema.pending;
  } catch (error) {
    throw isRefused(error) ? new DatabaseUnusableError(url, error) : error;
  } finally {
    await pool.end();
  }
}
