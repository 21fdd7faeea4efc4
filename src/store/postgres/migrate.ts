import { Kysely, PostgresAdapter, PostgresDialect, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import type { Pool } from 'pg';
import { NewerSchemaError, postgresMigrations } from '../migrations/migrations.ts';

const tableExists = 'select to_regclass($1) is not null as exists';
const applied = 'select name from kysely_migration order by name';
const needed = 'select name from needed_migrations order by name';

export interface SchemaState {
  /** The name of the database. */
  readonly database: string;
  /** The applied migrations, in order; none if Parley never opened the database. */
  readonly applied: readonly string[];
  /** Those of this program that are not applied. */
  readonly pending: readonly string[];
  /** A migration that this program must know to use the database, and does not. */
  readonly tooNew: string | undefined;
}

type Migrations = Readonly<Record<string, Migration>>;

/** Reads which migrations the database has. @param migrations of this program */
export async function schemaState(
  pool: Pool,
  migrations: Migrations = postgresMigrations,
): Promise<SchemaState> {
  const namesIn = async (table: string, sql: string): Promise<string[]> => {
    if (!(await pool.query(tableExists, [table])).rows[0].exists) return [];
    return (await pool.query(sql)).rows.map(({ name }) => name);
  };
  const isUnknown = (name: string) => !Object.hasOwn(migrations, name);
  const { database } = (await pool.query('select current_database() as database')).rows[0];
  const names = await namesIn('kysely_migration', applied);
  const pending = Object.keys(migrations).filter((name) => !names.includes(name));
  // A program that lacks earlier migrations must not apply its own after them.
  const blocking = pending.length > 0 ? names : await namesIn('needed_migrations', needed);
  return { database, applied: names, pending, tooNew: blocking.find(isUnknown) };
}

/**
 * Brings the schema up to date, all or nothing, and returns the names of the migrations that it applied. Programs that start at once do
 * so one after the other. A newer schema stays as it is.
 * @throws NewerSchemaError, and changes nothing, if the schema is too new for this program
 */
export async function migrate(pool: Pool, migrations: Migrations = postgresMigrations): Promise<string[]> {
  const { database, pending, tooNew } = await schemaState(pool, migrations);
  if (tooNew !== undefined) throw new NewerSchemaError(database, tooNew);
  if (pending.length === 0) return [];
  // Without `destroy`, which would end the pool.
  const db = new Kysely<unknown>({ dialect: new MigratingDialect({ pool }) });
  return db.transaction().execute(async (transaction) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(lockId)})`.execute(transaction);
    const provider = { getMigrations: async () => migrations };
    const { error, results = [] } = await new Migrator({ db: transaction, provider }).migrateToLatest();
    if (error) throw error;
    return results.map(({ migrationName }) => migrationName);
  });
}

/** A number that nothing else locks in this database. */
const lockId = 5_577_006_791_947n;

/**
 * Kysely's own lock belongs to the connection, and stays behind on a pooler that lends connections for one transaction. That of `migrate`
 * ends with the transaction.
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
