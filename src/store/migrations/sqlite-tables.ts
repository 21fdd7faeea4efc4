import type { ColumnTypes } from './column-types.ts';
import { debitNumber, entryViews, recordViews, startedNumber } from './integer-rows.ts';
import {
  accountTables,
  alertTables,
  countTables,
  isHuge,
  secretTables,
  sumTables,
  traceTables,
} from './shared-tables.ts';

const words = [
  ...['load', 'adjustment', 'ok', 'refused', 'failed', 'cancelled', 'interrupted', 'replayed', 'reported'],
  ...['estimated', 'speech', 'transcription', 'chat', 'catalog', 'account', 'admin', 'none', 'rest'],
  ...['connect', 'grpc', 'grpc-web'],
];

/** Rows refer to accounts and keys by these numbers. */
const numbered = (table: string) => [
  `create unique index ${table}_by_number on ${table} (number)`,
  `create trigger ${table}_numbered after insert on ${table} begin
    update ${table} set number = (select coalesce(max(number), 0) + 1 from ${table}) where id = new.id; end`,
];

/** Usage records and ledger entries in a third of the size: ids are bytes, and numbers stand for accounts, keys and words. */
const rows = [
  'create table words (number integer primary key, word text not null unique) strict',
  `insert into words (number, word) values (${startedNumber}, 'started'), (${debitNumber}, 'debit')`,
  ...words.map((word) => `insert into words (word) values ('${word}')`),
  `create table usage_rows (
    id blob primary key, account integer not null, key integer not null, operation any not null, model any, wire any not null,
    state any not null, http_status integer, code any, started_at_ms integer not null, first_output_ms integer,
    duration_ms integer, audio_ms_in integer, audio_ms_out integer, characters integer, prompt_tokens integer,
    completion_tokens integer, total_tokens integer, tokens_source any, hold_nano_credits integer not null,
    price_input integer, price_output integer, fair_use_units integer, cost_nano_credits integer,
    overrun_nano_credits integer, cached_tokens integer, cache_write_tokens integer, engine any,
    reserved_nano_credits integer, cause text, end_user text, tags text
  ) strict, without rowid`,
  'create index usage_rows_by_account on usage_rows (account, id)',
  `create index usage_rows_open on usage_rows (id) where state = ${startedNumber}`,
  // A debit has no reference: its id is that of the request, so the primary key prevents a second debit.
  `create table ledger_rows (
    account integer not null, id blob not null, kind any not null, amount_nano_credits integer not null, reason any not null,
    reference text, created_at_ms integer not null, primary key (account, id)
  ) strict, without rowid`,
  `create unique index ledger_rows_once on ledger_rows (account, reference) where kind <> ${debitNumber}`,
  `create trigger ledger_rows_stay before update on ledger_rows
    begin select raise(abort, 'ledger entries are never changed'); end`,
  `create trigger ledger_rows_remain before delete on ledger_rows
    begin select raise(abort, 'ledger entries are never removed'); end`,
  ...entryViews,
];

/** Each change of a key, an account or a subscription raises the version, which caches compare. */
const changes = {
  key_changed: 'update of name, scopes, expires_at_ms, revoked_at_ms, limits on api_keys',
  account_changed: 'update of name, limits, suspended_at_ms, deleted_at_ms on accounts',
  subscription_begun: 'insert on subscriptions',
  subscription_changed: 'update on subscriptions',
};
const policy = [
  'create table policy (version integer not null) strict',
  'insert into policy (version) values (0)',
  ...Object.entries(changes).map(
    ([name, change]) =>
      `create trigger ${name} after ${change} begin update policy set version = version + 1; end`,
  ),
];

export const sqliteTables = (types: ColumnTypes) => [
  ...accountTables(types, 'number integer', 'number integer, '),
  ...countTables(types, ''),
  ...traceTables(types, ''),
  ...alertTables(types),
  ...policy,
  ...numbered('accounts'),
  ...numbered('api_keys'),
  ...rows,
  `create index usage_rows_huge on usage_rows (id) where ${isHuge}`,
  ...recordViews(),
  ...sumTables(types),
  ...secretTables(types),
];
