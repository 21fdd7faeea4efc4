import { existsSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { checkKnown, migrations, schemaState } from '../migrations/migrations.ts';
import { databaseName } from './database/connection.ts';
import { openDatabase } from './database/open-database.ts';
import { disown } from './database/ownership.ts';

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
export async function migrateFolder(dataDir: string): Promise<string[]> {
  const pending = pendingMigrations(dataDir);
  const connection = await openDatabase(dataDir);
  disown(connection);
  connection.close();
  return pending;
}
