import type { Kysely } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/** Sessions of the console that were ended early. */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('ended_sessions')
    // The id of a key. That of the environment has no row in `api_keys`.
    .addColumn('owner', types.text, (column) => column.notNull())
    .addColumn('session', types.text, (column) => column.notNull())
    // The normal end of the session.
    .addColumn('until_ms', types.integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('ended_sessions_key', ['owner', 'session'])
    .$call(types.keyed)
    .execute();
}
