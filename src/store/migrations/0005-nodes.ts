import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/** The nodes that share a database, and the node of each running request and each claim. For PostgreSQL only. */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await sql`create table nodes (
    epoch bigint generated always as identity primary key,
    name text not null,
    version text not null,
    lease_until timestamptz not null,
    dead boolean not null default false
  )`.execute(db);
  await db.schema.alterTable('usage_records').addColumn('node_epoch', types.integer).execute();
  await db.schema.alterTable('kept_answers').addColumn('node_epoch', types.integer).execute();
  await sql`create index usage_records_open on usage_records (node_epoch) where state = 'started'`.execute(
    db,
  );
  await sql`create index kept_answers_open on kept_answers (node_epoch) where answer is null`.execute(db);
  // The default partition: records whose time is outside all others.
  await sql`create table usage_records_rest partition of usage_records default`.execute(db);
}
