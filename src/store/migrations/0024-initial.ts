/** The schema. A database of migration 0023 has it, and stays as it is. */
import { randomBytes } from 'node:crypto';
import type { ColumnTypes, Run } from './column-types.ts';
import { postgresTables } from './postgres-tables.ts';
import { sqliteTables } from './sqlite-tables.ts';

export const needs = '0024-initial';

export async function up(run: Run, types: ColumnTypes, applied: readonly string[]): Promise<void> {
  const isSqlite = types.dialect === 'sqlite';
  if (applied.length > 0) {
    if (!isSqlite) await run('delete from needed_migrations');
    return;
  }
  for (const text of isSqlite ? sqliteTables(types) : postgresTables(types)) await run(text);
  const secret = randomBytes(32).toString('base64url');
  await run(`insert into secrets (purpose, secret) values ('reasoning', '${secret}')`);
}
