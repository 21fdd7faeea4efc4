import type Sqlite from 'better-sqlite3';
import { migrations } from './index.ts';

/** A newer Parley has changed the database: this one does not know what its tables mean. */
export class NewerSchemaError extends Error {
  constructor(path: string, migration: string) {
    super(
      `A newer Parley has changed the database ${path} (${migration}). Run that version or a newer one, or restore a backup from before.`,
    );
    this.name = 'NewerSchemaError';
  }
}

/** The names of the migrations that a database has had, in their order; none where it was never opened by Parley. */
export function appliedMigrations(connection: Sqlite.Database): string[] {
  const isMade = connection
    .prepare<[], unknown>("select 1 from sqlite_schema where name = 'kysely_migration'")
    .get();
  if (isMade === undefined) return [];
  return connection
    .prepare<[], { name: string }>('select name from kysely_migration order by name')
    .all()
    .map(({ name }) => name);
}

/** @throws NewerSchemaError */
export function checkKnown(connection: Sqlite.Database, path = connection.name): void {
  const unknown = appliedMigrations(connection).find((name) => !Object.hasOwn(migrations, name));
  if (unknown !== undefined) throw new NewerSchemaError(path, unknown);
}
