import { checkSchema } from '../migrations/migrations.ts';
import { openPool } from './database/connection.ts';
import { DatabaseUnusableError, isRefused } from './database/storage-failures.ts';
import { migrate, schemaState } from './migrate.ts';

/**
 * Brings a database to the schema of this program, over a separate connection. Returns the names of the applied migrations.
 * @param isDry whether to change nothing, and return the pending migrations
 * @throws NewerSchemaError; OlderSchemaError; DatabaseUnusableError
 */
export async function migrateUrl(url: string, isDry = false): Promise<readonly string[]> {
  const pool = openPool({ url, connectionsMax: 1, name: 'parley migrate', mayTakeLong: true });
  try {
    if (!isDry) return await migrate(pool);
    const schema = await schemaState(pool);
    checkSchema(schema, schema.name);
    return schema.pending;
  } catch (error) {
    throw isRefused(error) ? new DatabaseUnusableError(url, error) : error;
  } finally {
    await pool.end();
  }
}
