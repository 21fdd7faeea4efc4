import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';
import { createPolicyVersions } from './postgres-tables.ts';

/** The policy version: each change of a key, an account's name or a subscription raises it, and caches compare it. */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  if (types.dialect === 'postgres') return createPolicyVersions(db, types);
  await db.schema
    .createTable('policy')
    .addColumn('version', 'integer', (column) => column.notNull())
    .modifyEnd(sql`strict`)
    .execute();
  await sql`insert into policy (version) values (0)`.execute(db);
  const changes = {
    key_changed: sql`update on api_keys`,
    account_renamed: sql`update of name on accounts`,
    subscription_begun: sql`insert on subscriptions`,
    subscription_changed: sql`update on subscriptions`,
  };
  for (const [name, change] of Object.entries(changes)) {
    await sql`create trigger ${sql.ref(name)} after ${change}
      begin update policy set version = version + 1; end`.execute(db);
  }
}
