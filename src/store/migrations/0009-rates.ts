import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/** The rates of keys and accounts over all nodes, and the parts of running requests. For PostgreSQL only. */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  let table = db.schema
    .createTable('rates')
    // The id of an account or of a key.
    .addColumn('owner', types.text, (column) => column.primaryKey());
  // The minute since 1970, its requests and tokens, and the number of running requests.
  for (const name of ['minute', 'requests', 'tokens', 'running']) {
    table = table.addColumn(name, types.integer, (column) => column.notNull());
  }
  await table.execute();
  // JSON. Another node returns these if the node of the request dies.
  await db.schema.alterTable('usage_records').addColumn('rate_uses', 'text').execute();
  await sql`create index usage_records_rated on usage_records (id) where rate_uses is not null`.execute(db);
}
