import { type Kysely, sql } from 'kysely';

/** Accounts, subscriptions, keys, ledger, fair use, usage records, idempotency records, and the audit trail. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await createAccounts(db);
  await createKeys(db);
  await createLedger(db);
  await createFairUse(db);
  await createUsageRecords(db);
  await createKeptAnswers(db);
  await createAuditTrail(db);
}

async function createAccounts(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('accounts')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('created_at_ms', 'integer', (column) => column.notNull())
    .addColumn('balance_nano_credits', 'integer', (column) =>
      column.notNull().check(sql`balance_nano_credits >= held_nano_credits`),
    )
    .addColumn('held_nano_credits', 'integer', (column) =>
      column.notNull().check(sql`held_nano_credits >= 0`),
    )
    .modifyEnd(sql`strict, without rowid`)
    .execute();
  await db.schema
    .createTable('subscriptions')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('kind', 'text', (column) => column.notNull().check(sql`kind in ('trial', 'plan')`))
    .addColumn('starts_at_ms', 'integer', (column) => column.notNull())
    .addColumn('ends_at_ms', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('subscriptions_key', ['account_id', 'kind'])
    .modifyEnd(sql`strict, without rowid`)
    .execute();
}

async function createKeys(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('api_keys')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.references('accounts.id'))
    .addColumn('kind', 'text', (column) =>
      column.notNull().check(sql`(kind = 'admin') = (account_id is null)`),
    )
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull().unique())
    .addColumn('last_four', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'integer', (column) => column.notNull())
    .addColumn('expires_at_ms', 'integer')
    .addColumn('revoked_at_ms', 'integer')
    .modifyEnd(sql`strict, without rowid`)
    .execute();
  await db.schema.createIndex('api_keys_by_account').on('api_keys').columns(['account_id', 'id']).execute();
}

async function createLedger(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ledger_entries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('amount_nano_credits', 'integer', (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('reference', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'integer', (column) => column.notNull())
    // Prevents a second load with the same key, and a second debit of a request.
    .addUniqueConstraint('ledger_entries_once', ['account_id', 'reference'])
    .modifyEnd(sql`strict, without rowid`)
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

async function createFairUse(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('fair_use')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('month', 'text', (column) => column.notNull())
    .addColumn('used_units', 'integer', (column) => column.notNull().check(sql`used_units >= 0`))
    .addColumn('reserved_units', 'integer', (column) => column.notNull().check(sql`reserved_units >= 0`))
    .addPrimaryKeyConstraint('fair_use_key', ['account_id', 'month'])
    .modifyEnd(sql`strict, without rowid`)
    .execute();
}

async function createUsageRecords(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('usage_records')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('key_id', 'text', (column) => column.notNull().references('api_keys.id'))
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('model', 'text')
    .addColumn('wire', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('http_status', 'integer')
    .addColumn('code', 'text')
    .addColumn('started_at_ms', 'integer', (column) => column.notNull())
    .addColumn('first_output_ms', 'integer')
    .addColumn('duration_ms', 'integer')
    .addColumn('audio_ms_in', 'integer')
    .addColumn('audio_ms_out', 'integer')
    .addColumn('characters', 'integer')
    .addColumn('prompt_tokens', 'integer')
    .addColumn('completion_tokens', 'integer')
    .addColumn('total_tokens', 'integer')
    .addColumn('tokens_source', 'text')
    .addColumn('reserved_units', 'integer', (column) => column.notNull())
    .addColumn('reserved_month', 'text')
    .addColumn('hold_nano_credits', 'integer', (column) => column.notNull())
    .addColumn('price_input', 'integer')
    .addColumn('price_output', 'integer')
    .addColumn('fair_use_units', 'integer')
    .addColumn('cost_nano_credits', 'integer')
    .addColumn('overrun_nano_credits', 'integer')
    .modifyEnd(sql`strict, without rowid`)
    .execute();
  await db.schema
    .createIndex('usage_records_by_account')
    .on('usage_records')
    .columns(['account_id', 'id'])
    .execute();
  await sql`create index usage_records_open on usage_records (id) where state = 'started'`.execute(db);
}

async function createKeptAnswers(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('kept_answers')
    .addColumn('account_id', 'text', (column) => column.notNull().references('accounts.id'))
    .addColumn('operation', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('fingerprint', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('created_at_ms', 'integer', (column) => column.notNull())
    // Null while the first request runs.
    .addColumn('answer', 'blob')
    .addPrimaryKeyConstraint('kept_answers_key', ['account_id', 'operation', 'key'])
    .modifyEnd(sql`strict`)
    .execute();
  await db.schema.createIndex('kept_answers_by_age').on('kept_answers').column('created_at_ms').execute();
}

async function createAuditTrail(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit_entries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('created_at_ms', 'integer', (column) => column.notNull())
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('target', 'text', (column) => column.notNull())
    .addColumn('details', 'text', (column) => column.notNull())
    .modifyEnd(sql`strict, without rowid`)
    .execute();
}
