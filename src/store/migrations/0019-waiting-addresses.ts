import type { Kysely } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/** Addresses of mail that wait for their confirmation. `alert_settings` has those that are confirmed, among them all earlier ones. */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('waiting_addresses')
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('address', types.text, (column) => column.notNull())
    // The SHA-256 of the code in the latest mail; null if none was sent.
    .addColumn('code_hash', 'text')
    .addColumn('sent_at_ms', types.integer)
    .addColumn('expires_at_ms', types.integer)
    .addColumn('last_failure', 'text')
    .addPrimaryKeyConstraint('waiting_addresses_key', ['account_id', 'address'])
    .$call(types.keyed)
    .execute();
}
