/** Records keep the end user and the tags that the client names. */
import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';
import { recordViews } from './integer-rows.ts';

export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  for (const text of types.dialect === 'sqlite' ? onSqlite : onPostgres) await sql.raw(text).execute(db);
}

const onSqlite = [
  'drop view usage_records',
  'alter table usage_rows add column end_user text',
  'alter table usage_rows add column tags text',
  ...recordViews({ words: ['engine'], others: ['reserved_nano_credits', 'cause', 'end_user', 'tags'] }),
];

const onPostgres = [
  'alter table usage_records add column end_user text collate "C", add column tags text collate "C"',
];
