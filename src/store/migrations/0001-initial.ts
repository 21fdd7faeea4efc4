import { type ColumnDefinitionBuilder, type Kysely, sql } from 'kysely';
import type { ColumnTypes } from './column-types.ts';
import { createPostgresLedger } from './postgres-tables.ts';

/** Accounts, subscriptions, keys, ledger, fair use, usage records, idempotency records, and the audit trail. */
export async function up(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await createAccounts(db, types);
  await createKeys(db, types);
  if (types.dialect === 'sqlite') await createLedger(db, types);
  else await createPostgresLedger(db, types);
  await createFairUse(db, types);
  await createUsageRecords(db, types);
  await createKeptAnswers(db, types);
  await createAuditTrail(db, types);
}

async function createAccounts(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', types.id, (column) => column.primaryKey())
    .addColumn('name', types.text, (column) => column.notNull().unique())
    .addColumn('created_at_ms', types.integer, (column) => column.notNull())
    .addColumn('balance_nano_credits', types.integer, (column) =>
      column.notNull().check(sql`balance_nano_credits >= held_nano_credits`),
    )
    .addColumn('held_nano_credits', types.integer, (column) =>
      column.notNull().check(sql`held_nano_credits >= 0`),
    )
    .$call(types.keyed)
    .execute();
  await db.schema
    .createTable('subscriptions')
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('kind', types.text, (column) => column.notNull().check(sql`kind in ('trial', 'plan')`))
    .addColumn('starts_at_ms', types.integer, (column) => column.notNull())
    .addColumn('ends_at_ms', types.integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('subscriptions_key', ['account_id', 'kind'])
    .$call(types.keyed)
    .execute();
}

async function createKeys(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('api_keys')
    .addColumn('id', types.id, (column) => column.primaryKey())
    .addColumn('account_id', types.id, (column) => column.references('accounts.id'))
    .addColumn('kind', types.text, (column) =>
      column.notNull().check(sql`(kind = 'admin') = (account_id is null)`),
    )
    .addColumn('name', types.text, (column) => column.notNull())
    .addColumn('hash', types.text, (column) => column.notNull().unique())
    .addColumn('last_four', types.text, (column) => column.notNull())
    .addColumn('scopes', types.text, (column) => column.notNull())
    .addColumn('created_at_ms', types.integer, (column) => column.notNull())
    .addColumn('expires_at_ms', types.integer)
    .addColumn('revoked_at_ms', types.integer)
    .$call(types.keyed)
    .execute();
  await db.schema.createIndex('api_keys_by_account').on('api_keys').columns(['account_id', 'id']).execute();
}

async function createLedger(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('ledger_entries')
    .addColumn('id', types.id, (column) => column.primaryKey())
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('kind', types.text, (column) => column.notNull())
    .addColumn('amount_nano_credits', types.integer, (column) => column.notNull())
    .addColumn('reason', types.text, (column) => column.notNull())
    .addColumn('reference', types.text, (column) => column.notNull())
    .addColumn('created_at_ms', types.integer, (column) => column.notNull())
    // Prevents a second load with the same key, and a second debit of a request.
    .addUniqueConstraint('ledger_entries_once', ['account_id', 'reference'])
    .$call(types.keyed)
    .execute();
  await db.schema
    .createIndex('ledger_by_account')
    .on('ledger_entries')
    .columns(['account_id', 'id'])
    .execute();
  await sql`create trigger ledger_entries_stay before update on ledger_entries
    begin select raise(abort, 'ledger entries are never changed'); end`.execute(db);
  await sql`create trigger ledger_entries_remain before delete on ledger_entries
    begin select raise(abort, 'ledger entries are never removed'); end`.execute(db);
}

async function createFairUse(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('fair_use')
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('month', types.text, (column) => column.notNull())
    .addColumn('used_units', types.integer, (column) => column.notNull().check(sql`used_units >= 0`))
    .addColumn('reserved_units', types.integer, (column) => column.notNull().check(sql`reserved_units >= 0`))
    .addPrimaryKeyConstraint('fair_use_key', ['account_id', 'month'])
    .$call(types.keyed)
    .execute();
}

async function createUsageRecords(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  const isSqlite = types.dialect === 'sqlite';
  // Has no foreign key: on PostgreSQL requests share locked rows of their accounts, and a check for each record would
  // double the work of the database.
  const refersTo = (column: ColumnDefinitionBuilder, to: string) =>
    isSqlite ? column.references(to) : column;
  await db.schema
    .createTable('usage_records')
    .addColumn('id', types.id, (column) => column.primaryKey())
    .addColumn('account_id', types.id, (column) => refersTo(column.notNull(), 'accounts.id'))
    .addColumn('key_id', types.id, (column) => refersTo(column.notNull(), 'api_keys.id'))
    .addColumn('operation', types.text, (column) => column.notNull())
    .addColumn('model', types.text)
    .addColumn('wire', types.text, (column) => column.notNull())
    .addColumn('state', types.text, (column) => column.notNull())
    .addColumn('http_status', types.integer)
    .addColumn('code', types.text)
    .addColumn('started_at_ms', types.integer, (column) => column.notNull())
    .addColumn('first_output_ms', types.integer)
    .addColumn('duration_ms', types.integer)
    .addColumn('audio_ms_in', types.integer)
    .addColumn('audio_ms_out', types.integer)
    .addColumn('characters', types.integer)
    .addColumn('prompt_tokens', types.integer)
    .addColumn('completion_tokens', types.integer)
    .addColumn('total_tokens', types.integer)
    .addColumn('tokens_source', types.text)
    .addColumn('reserved_units', types.integer, (column) => column.notNull())
    .addColumn('reserved_month', types.text)
    .addColumn('hold_nano_credits', types.integer, (column) => column.notNull())
    .addColumn('price_input', types.integer)
    .addColumn('price_output', types.integer)
    .addColumn('fair_use_units', types.integer)
    .addColumn('cost_nano_credits', types.integer)
    .addColumn('overrun_nano_credits', types.integer)
    .$call((table) => (isSqlite ? types.keyed(table) : table.modifyEnd(sql`partition by range (id)`)))
    .execute();
  await db.schema
    .createIndex('usage_records_by_account')
    .on('usage_records')
    .columns(['account_id', 'id'])
    .execute();
  if (isSqlite)
    await sql`create index usage_records_open on usage_records (id) where state = 'started'`.execute(db);
}

async function createKeptAnswers(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('kept_answers')
    .addColumn('account_id', types.id, (column) => column.notNull().references('accounts.id'))
    .addColumn('operation', types.text, (column) => column.notNull())
    .addColumn('key', types.text, (column) => column.notNull())
    .addColumn('fingerprint', types.text, (column) => column.notNull())
    .addColumn('request_id', types.id, (column) => column.notNull())
    .addColumn('created_at_ms', types.integer, (column) => column.notNull())
    // Null while the first request runs.
    .addColumn('answer', types.bytes)
    .addPrimaryKeyConstraint('kept_answers_key', ['account_id', 'operation', 'key'])
    .$call(types.plain)
    .execute();
  await db.schema.createIndex('kept_answers_by_age').on('kept_answers').column('created_at_ms').execute();
}

async function createAuditTrail(db: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await db.schema
    .createTable('audit_entries')
    .addColumn('id', types.id, (column) => column.primaryKey())
    .addColumn('created_at_ms', types.integer, (column) => column.notNull())
    .addColumn('actor', types.text, (column) => column.notNull())
    .addColumn('action', types.text, (column) => column.notNull())
    .addColumn('target', types.text, (column) => column.notNull())
    .addColumn('details', types.text, (column) => column.notNull())
    .$call(types.keyed)
    .execute();
}
