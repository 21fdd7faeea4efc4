/** Records keep their engine, the credits that were held, and why they failed. */
import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';
import { recordViews } from './integer-rows.ts';

export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  for (const text of types.dialect === 'sqlite' ? onSqlite : onPostgres) await sql.raw(text).execute(db);
}

const onSqlite = [
  'drop view usage_records',
  'alter table usage_rows add column engine any',
  'alter table usage_rows add column reserved_nano_credits integer',
  'alter table usage_rows add column cause text',
  ...recordViews({ words: ['engine'], others: ['reserved_nano_credits', 'cause'] }),
];

const onPostgres = [
  `alter table usage_records add column engine text collate "C", add column reserved_nano_credits bigint, add column cause text`,
];
