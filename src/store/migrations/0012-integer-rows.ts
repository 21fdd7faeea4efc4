import { type Kysely, sql } from 'kysely';
import { debitNumber, startedNumber } from './integer-rows.ts';

/**
 * Tables for usage records and ledger entries of a third of the size: ids are bytes, and numbers stand for accounts, keys and words. For
 * SQLite only. `carryOver` fills them, and the next migration puts them in the place of the tables before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await addNumbers(db, 'accounts');
  await addNumbers(db, 'api_keys');
  await sql`create table words (number integer primary key, word text not null unique) strict`.execute(db);
  await sql`insert into words (number, word) values (${sql.lit(startedNumber)}, 'started'),
    (${sql.lit(debitNumber)}, 'debit')`.execute(db);
  for (const word of words) await sql`insert into words (word) values (${sql.lit(word)})`.execute(db);
  await createTables(db);
}

const words = [
  ...['load', 'adjustment', 'ok', 'refused', 'failed', 'cancelled', 'interrupted', 'replayed', 'reported'],
  ...[
    'estimated',
    'speech',
    'transcription',
    'chat',
    'catalog',
    'account',
    'admin',
    'none',
    'rest',
    'connect',
  ],
  ...['grpc', 'grpc-web'],
];

/** In the order of the ids, so that rows keep their order. */
async function addNumbers(db: Kysely<unknown>, table: 'accounts' | 'api_keys'): Promise<void> {
  await db.schema.alterTable(table).addColumn('number', 'integer').execute();
  await sql`update ${sql.table(table)} set number = numbered.number
    from (select id, row_number() over (order by id) as number from ${sql.table(table)}) as numbered
    where numbered.id = ${sql.table(table)}.id`.execute(db);
  await sql`create unique index ${sql.ref(`${table}_by_number`)} on ${sql.table(table)} (number)`.execute(db);
  await sql`create trigger ${sql.ref(`${table}_numbered`)} after insert on ${sql.table(table)} begin
    update ${sql.table(table)} set number = (select coalesce(max(number), 0) + 1 from ${sql.table(table)})
    where id = new.id; end`.execute(db);
}

async function createTables(db: Kysely<unknown>): Promise<void> {
  await sql`create table usage_rows (
    id blob primary key, account integer not null, key integer not null, operation any not null, model any, wire any not null,
    state any not null, http_status integer, code any, started_at_ms integer not null, first_output_ms integer,
    duration_ms integer, audio_ms_in integer, audio_ms_out integer, characters integer, prompt_tokens integer,
    completion_tokens integer, total_tokens integer, tokens_source any, hold_nano_credits integer not null,
    price_input integer, price_output integer, fair_use_units integer, cost_nano_credits integer,
    overrun_nano_credits integer
  ) strict, without rowid`.execute(db);
  await sql`create index usage_rows_by_account on usage_rows (account, id)`.execute(db);
  await sql`create index usage_rows_open on usage_rows (id) where state = ${sql.lit(startedNumber)}`.execute(
    db,
  );
  // A debit has no reference: its id is that of the request.
  await sql`create table ledger_rows (
    account integer not null, id blob not null, kind any not null, amount_nano_credits integer not null, reason any not null,
    reference text, created_at_ms integer not null, primary key (account, id)
  ) strict, without rowid`.execute(db);
  await sql`create unique index ledger_rows_once on ledger_rows (account, reference)
    where kind <> ${sql.lit(debitNumber)}`.execute(db);
  await sql`create trigger ledger_rows_stay before update on ledger_rows
    begin select raise(abort, 'ledger entries are never changed'); end`.execute(db);
  await sql`create trigger ledger_rows_remain before delete on ledger_rows
    begin select raise(abort, 'ledger entries are never removed'); end`.execute(db);
}
