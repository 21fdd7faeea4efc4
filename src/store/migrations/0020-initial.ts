/** The schema, or the step to it from the former one, which migrations 0001 to 0019 made. */
import { type Kysely, sql } from 'kysely';
import { carryOver } from './carry-over.ts';
import type { ColumnTypes } from './column-types.ts';
import { postgresTables } from './postgres-tables.ts';
import { sqliteTables } from './sqlite-tables.ts';

export const needs = '0020-initial';

export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  const tables = await db.introspection.getTables();
  const isFormer = tables.some(({ name }) => name === 'accounts');
  const create = types.dialect === 'sqlite' ? sqliteTables : postgresTables;
  for (const text of isFormer ? carryOver(types) : create(types)) await sql.raw(text).execute(db);
}
