import { type Dialect, Kysely, PostgresDialect, SqliteDialect, sql, type Transaction } from 'kysely';
import type { RecordStart } from '../../src/core/entities/usage.ts';
import { type AccountId, type KeyId, newLedgerEntryId } from '../../src/core/values/ids.ts';
import { openPool } from '../../src/store/postgres/database/connection.ts';
import { toUuid } from '../../src/store/postgres/database/ids.ts';
import type { Database } from '../../src/store/sql/schema.ts';
import { openDatabase } from '../../src/store/sqlite/database/open-database.ts';
import { costAmount, end, holdAmount, type MoneyPath, price, startOf, tokens } from './request.ts';

const textTables = `
  drop view usage_records;
  drop view ledger_entries;
  create table usage_records (
    id text primary key, account_id text not null references accounts (id), key_id text not null references api_keys (id),
    operation text not null, model text, wire text not null, state text not null, http_status integer, code text,
    started_at_ms integer not null, first_output_ms integer, duration_ms integer, audio_ms_in integer, audio_ms_out integer,
    characters integer, prompt_tokens integer, completion_tokens integer, total_tokens integer, tokens_source text,
    hold_nano_credits integer not null, price_input integer,
    price_output integer, fair_use_units integer, cost_nano_credits integer, overrun_nano_credits integer,
    cached_tokens integer, cache_write_tokens integer, engine text, reserved_nano_credits integer, cause text
  ) strict, without rowid;
  create index usage_records_by_account on usage_records (account_id, id);
  create index usage_records_open on usage_records (id) where state = 'started';
  create table ledger_entries (
    account_id text not null references accounts (id), id text not null, kind text not null, amount_nano_credits integer not null,
    reason text not null, reference text not null, created_at_ms integer not null, primary key (account_id, id)
  ) strict, without rowid;
  insert into ledger_entries (account_id, id, kind, amount_nano_credits, reason, reference, created_at_ms)
    select accounts.id, 'led_' || lower(hex(ledger_rows.id)), 'load', amount_nano_credits, reason, reference,
      ledger_rows.created_at_ms from ledger_rows join accounts on number = account;
  create unique index ledger_entries_once on ledger_entries (account_id, reference) where kind <> 'debit'`;

/** The ids of a request as the database stores them. */
interface StoredIds {
  readonly request: string;
  /** Id of the ledger entry. */
  readonly entry: string;
  /** From the entry to the request. */
  readonly reference: string | null;
}

/** The same steps in plain Kysely: a look-up and two transactions a request, on tables with texts, as an application would have them. */
export async function kyselyPath(dataDir: string): Promise<MoneyPath> {
  const database = await openDatabase(dataDir);
  database.exec(textTables);
  return pathOn(new SqliteDialect({ database }), ({ id, startedAtMs }) => ({
    request: id,
    entry: newLedgerEntryId(startedAtMs + end.durationMs),
    reference: id,
  }));
}

/** The same on PostgreSQL, over as many connections as Parley's. */
export async function kyselyPostgresPath(url: string): Promise<MoneyPath> {
  const pool = openPool({ url, connectionsMax: 10, name: 'bench' });
  return pathOn(new PostgresDialect({ pool }), ({ id }) => {
    const uuid = toUuid(id);
    if (uuid === null) throw new Error(`${id} is no id`);
    return { request: uuid, entry: uuid, reference: null };
  });
}

function pathOn(dialect: Dialect, storedIds: (start: RecordStart) => StoredIds): MoneyPath {
  const db = new Kysely<Database>({ dialect });
  return {
    async request(keyHash) {
      const key = await findKey(db, keyHash);
      const start = startOf(key.account_id as AccountId, key.id as KeyId);
      const ids = storedIds(start);
      await db.transaction().execute((tx) => admit(tx, start, ids));
      await db.transaction().execute((tx) => finish(tx, ids));
    },
    close: () => db.destroy(),
  };
}

function findKey(db: Kysely<Database>, hash: string) {
  return db
    .selectFrom('api_keys')
    .innerJoin('accounts', 'accounts.id', 'api_keys.account_id')
    .leftJoin('subscriptions', 'subscriptions.account_id', 'accounts.id')
    .selectAll('api_keys')
    .select(['balance_nano_credits', 'held_nano_credits', 'starts_at_ms', 'ends_at_ms'])
    .where('hash', '=', hash)
    .executeTakeFirstOrThrow();
}

async function admit(tx: Transaction<Database>, start: RecordStart, { request }: StoredIds): Promise<void> {
  const held = await tx
    .updateTable('accounts')
    .set({ held_nano_credits: sql`held_nano_credits + ${holdAmount}` })
    .where('id', '=', start.accountId)
    .where(sql<boolean>`balance_nano_credits - held_nano_credits >= ${holdAmount}`)
    .executeTakeFirst();
  if (held.numUpdatedRows === 0n) throw new Error('insufficient_credits');
  await tx
    .insertInto('usage_records')
    .values({
      id: request,
      account_id: start.accountId,
      key_id: start.keyId,
      operation: start.operation,
      model: start.model ?? null,
      wire: start.wire,
      state: 'started',
      started_at_ms: start.startedAtMs,
      hold_nano_credits: holdAmount,
      price_input: price.inputPerMillion,
      price_output: price.outputPerMillion,
    })
    .execute();
}

async function finish(tx: Transaction<Database>, { request, entry, reference }: StoredIds): Promise<void> {
  const record = await tx
    .selectFrom('usage_records')
    .select(['account_id', 'model', 'started_at_ms', 'hold_nano_credits'])
    .where('id', '=', request)
    .where('state', '=', 'started')
    .executeTakeFirstOrThrow();
  await tx
    .updateTable('accounts')
    .set({
      held_nano_credits: sql`held_nano_credits - ${record.hold_nano_credits}`,
      balance_nano_credits: sql`balance_nano_credits - ${costAmount}`,
    })
    .where('id', '=', record.account_id)
    .execute();
  const createdAtMs = Number(record.started_at_ms) + end.durationMs;
  await tx
    .insertInto('ledger_entries')
    .values({
      id: entry,
      account_id: record.account_id,
      kind: 'debit',
      amount_nano_credits: -costAmount,
      reason: record.model ?? '',
      reference,
      created_at_ms: createdAtMs,
    })
    .execute();
  await tx
    .updateTable('usage_records')
    .set({
      state: end.state,
      http_status: end.httpStatus,
      first_output_ms: end.firstOutputMs ?? null,
      duration_ms: end.durationMs,
      prompt_tokens: tokens.promptTokens,
      completion_tokens: tokens.completionTokens,
      total_tokens: tokens.totalTokens,
      tokens_source: tokens.source,
      cost_nano_credits: costAmount,
      hold_nano_credits: 0,
    })
    .where('id', '=', request)
    .execute();
}
