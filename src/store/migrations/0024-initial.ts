/** The schema. A database of migration 0023 has it, and stays as it is. */
import { randomBytes } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';
import { postgresTables } from './postgres-tables.ts';
import { sqliteTables } from './sqlite-tables.ts';

export const needs = '0024-initial';

export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  const isSqlite = types.dialect === 'sqlite';
  const tables = await db.introspection.getTables();
  if (tables.some(({ name }) => name === 'accounts')) {
    if (!isSqlite) await sql`delete from needed_migrations`.execute(db);
    return;
  }
  for (const text of isSqlite ? sqliteTables(types) : postgresTables(types)) await sql.raw(text).execute(db);
  const secret = randomBytes(32).toString('base64url');
  await sql`insert into secrets (purpose, secret) values ('reasoning', ${secret})`.execute(db);
}
