import type { Kysely } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/**
 * The migrations that a program must know to use the database. Those that only add are not here, so programs of the version before go on
 * beside newer ones. For PostgreSQL only.
 */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('needed_migrations')
    .addColumn('name', types.text, (column) => column.primaryKey())
    .execute();
}
