import type { Pool, QueryResult } from 'pg';
import type { Migrations } from '../migrations/column-types.ts';
import {
  applyPending,
  checkSchema,
  compared,
  migrations,
  type OnMigration,
  type SchemaState,
} from '../migrations/migrations.ts';
import { openPool } from './database/connection.ts';
import { isRefused, unusableAt } from './database/storage-failures.ts';
import { transact } from './database/transaction.ts';

const tableExists = 'select to_regclass($1) is not null as exists';
const appliedNames = 'select name from kysely_migration order by name';
const neededNames = 'select name from needed_migrations order by name';

/** A pool or a single connection. */
interface Database {
  query(sql: string, values?: unknown[]): Promise<QueryResult>;
}

/** Reads the name of the database and its migrations. @param known the migrations of this program */
export async function schemaState(
  database: Database,
  known = migrations,
): Promise<SchemaState & { readonly name: string }> {
  const namesIn = async (table: string, sql: string): Promise<string[]> => {
    if (!(await database.query(tableExists, [table])).rows[0].exists) return [];
    return (await database.query(sql)).rows.map(({ name }) => name);
  };
  const { name } = (await database.query('select current_database() as name')).rows[0];
  const applied = await namesIn('kysely_migration', appliedNames);
  const pending = Object.keys(known).filter((name) => !applied.includes(name));
  // A program that lacks earlier migrations must not apply its own after them.
  const blocking = pending.length > 0 ? applied : await namesIn('needed_migrations', neededNames);
  return { name, ...compared(known, applied, blocking) };
}

/**
 * Brings the schema up to date, all or nothing, and returns the names of the migrations that it applied. Programs that start at once do
 * so one after the other. A newer schema stays as it is.
 * @throws StoreError, and changes nothing, if the schema is too new or too old for this program
 */
export async function migrate(
  pool: Pool,
  known: Migrations = migrations,
  onMigration?: OnMigration,
): Promise<readonly string[]> {
  if ((await checked(pool, known)).pending.length === 0) return [];
  return transact(
    pool,
    async (transaction) => {
      const run = (text: string, values: unknown[] = []) => transaction.query({ text, values });
      await run(`select pg_advisory_xact_lock(${lockId})`);
      const schema = await checked({ query: run }, known);
      await applyPending(run, 'postgres', schema, onMigration, known);
      return schema.pending;
    },
    { begin: 'begin isolation level read committed', msMax: migrationMsMax },
  );
}

/** @throws StoreError */
async function checked(database: Database, known?: Migrations): Promise<SchemaState> {
  const { name, ...schema } = await schemaState(database, known);
  checkSchema(schema, name);
  return schema;
}

/** Key of the advisory lock. Nothing else in this database uses it. */
const lockId = 5_577_006_791_947n;
/** How long a change of a large table may take. */
const migrationMsMax = 86_400_000;

/**
 * Brings a database to the schema of this program, over a separate connection. Returns the names of the applied migrations.
 * @param isDry whether to change nothing, and return the pending migrations
 * @throws StoreError
 */
export async function migrateUrl(
  url: string,
  isDry = false,
  onMigration?: OnMigration,
): Promise<readonly string[]> {
  const pool = openPool({ url, connectionsMax: 1, name: 'parley migrate', mayTakeLong: true });
  try {
    if (!isDry) return await migrate(pool, migrations, onMigration);
    return (await checked(pool)).pending;
  } catch (error) {
    throw isRefused(error) ? unusableAt(url, error) : error;
  } finally {
    await pool.end();
  }
}
