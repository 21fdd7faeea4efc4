import { type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';

/** The settings of alerts, the marks of passed thresholds, and the alerts with their delivery. */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await createSettings(db, types);
  await createMarks(db, types);
  await createAlerts(db, types);
}

async function createSettings(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('alert_settings')
    .addColumn('account_id', types.id, (column) => column.primaryKey().references('accounts.id'))
    .addColumn('webhook_url', 'text')
    // Sealed, if the server has a key to seal with.
    .addColumn('secret', 'text')
    // Separated by spaces.
    .addColumn('percents', 'text', (column) => column.notNull())
    .addColumn('balance_below', types.integer)
    .addColumn('webhook_off_at_ms', types.integer)
    .$call(types.keyed)
    .execute();
}

/** One row for each watched amount: the highest threshold that it passed in its latest period. */
async function createMarks(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('alert_marks')
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('kind', types.text, (column) => column.notNull())
    .addColumn('subject', types.text, (column) => column.notNull())
    // A mark starts again only in a later period, as the clocks of nodes differ.
    .addColumn('period', types.text, (column) => column.notNull())
    // The limit, amount or end to which the threshold belongs. The mark starts again with another one.
    .addColumn('basis', types.text, (column) => column.notNull())
    .addColumn('threshold', types.integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('alert_marks_key', ['account_id', 'kind', 'subject'])
    .$call(types.keyed)
    .execute();
}

async function createAlerts(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('alerts')
    .addColumn('id', types.id, (column) => column.primaryKey())
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('kind', types.text, (column) => column.notNull())
    .addColumn('created_at_ms', types.integer, (column) => column.notNull())
    // JSON.
    .addColumn('details', 'text', (column) => column.notNull())
    .addColumn('state', types.text, (column) => column.notNull())
    .addColumn('attempts', types.integer, (column) => column.notNull())
    .addColumn('next_attempt_at_ms', types.integer, (column) =>
      column.check(sql`(state = 'pending') = (next_attempt_at_ms is not null)`),
    )
    .addColumn('delivered_at_ms', types.integer)
    .addColumn('last_failure', 'text')
    .$call(types.keyed)
    .execute();
  await db.schema.createIndex('alerts_by_account').on('alerts').columns(['account_id', 'id']).execute();
  await sql`create index alerts_pending on alerts (account_id, id) where state = 'pending'`.execute(db);
}
