import type { Kysely } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/**
 * The migrations that a program must know to use the database. Migrations that only add are not listed, so that
 * programs of the previous version continue beside newer ones. For PostgreSQL only.
 */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('needed_migrations')
    .addColumn('name', types.text, (column) => column.primaryKey())
    .execute();
}
