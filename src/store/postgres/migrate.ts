import { Kysely, PostgresDialect } from 'kysely';
import { Migrator } from 'kysely/migration';
import type { Pool } from 'pg';
import { NewerSchemaError, postgresMigrations } from '../migrations/migrations.ts';

const exists = "select to_regclass('kysely_migration') is not null as exists";
const applied = 'select name from kysely_migration order by name';

/** The names of the applied migrations, in order; none if Parley never opened the database. */
export async function appliedMigrations(pool: Pool): Promise<string[]> {
  if (!(await pool.query(exists)).rows[0].exists) return [];
  return (await pool.query(applied)).rows.map(({ name }) => name);
}

/**
 * Brings the schema up to date. Nodes that start at once do so one after the other.
 * @throws NewerSchemaError, and changes nothing, if the schema is newer than this program
 */
export async function migrate(pool: Pool): Promise<void> {
  const names = await appliedMigrations(pool);
  const unknown = names.find((name) => !Object.hasOwn(postgresMigrations, name));
  if (unknown !== undefined) throw new NewerSchemaError('', unknown);
  if (names.length === Object.keys(postgresMigrations).length) return;
  // Without `destroy`, which would end the pool.
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => postgresMigrations } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}
