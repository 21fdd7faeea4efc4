import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/** The people who sign in to the console with an identity provider. Each of their sessions has a key. Empty for other keys. */
export async function up(db: Kysely<unknown>, _: ColumnTypes): Promise<void> {
  for (const name of ['person', 'subject', 'provider_session']) {
    await db.schema
      .alterTable('api_keys')
      .addColumn(name, 'text', (column) => column.notNull().defaultTo(''))
      .execute();
  }
  for (const name of ['subject', 'provider_session']) {
    const column = sql.ref(name);
    await sql`create index ${sql.ref(`api_keys_${name}`)} on api_keys (${column}) where ${column} <> ''`.execute(
      db,
    );
  }
}
