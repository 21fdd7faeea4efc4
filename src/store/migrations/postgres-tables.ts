import type { ColumnTypes } from './column-types.ts';
import {
  accountTables,
  alertTables,
  countTables,
  isHuge,
  secretTables,
  sumTables,
  traceTables,
} from './shared-tables.ts';

/** The channel of `notify` for changed accounts. */
export const policyChannel = 'parley_policy';

/**
 * A version of each account. Each change of its keys, its name or its subscriptions raises it, and admissions compare
 * it. Nodes are notified of the change, and drop the account from their caches.
 */
const policy = [
  `create function parley_policy_changed() returns trigger language plpgsql as $$
    begin
      if new.account_id is not null then
        update accounts set policy_version = policy_version + 1 where id = new.account_id;
        perform pg_notify('${policyChannel}', new.account_id::text);
      end if;
      return null;
    end $$`,
  `create function parley_account_changed() returns trigger language plpgsql as $$
    begin
      new.policy_version := old.policy_version + 1;
      perform pg_notify('${policyChannel}', new.id::text);
      return new;
    end $$`,
  `create trigger key_changed after update of name, scopes, expires_at_ms, revoked_at_ms, limits on api_keys
    for each row execute function parley_policy_changed()`,
  `create trigger account_changed before update of name, limits, suspended_at_ms, deleted_at_ms on accounts
    for each row execute function parley_account_changed()`,
  `create trigger subscription_changed after insert or update on subscriptions
    for each row execute function parley_policy_changed()`,
];

/** A debit has no reference: its id is that of the request. Without a foreign key, as each writer of an entry has locked the account. */
const ledger = ({ id, text, integer }: ColumnTypes) => [
  `create table ledger_entries (
    account_id ${id} not null, id ${id} not null, amount_nano_credits ${integer} not null, created_at_ms ${integer} not null,
    kind ${text} not null, reason ${text} not null, reference ${text},
    constraint ledger_entries_key primary key (account_id, id))`,
  `create unique index ledger_entries_once on ledger_entries (account_id, reference) where kind <> 'debit'`,
  `create function parley_refuse() returns trigger language plpgsql as
    $$ begin raise exception '%', tg_argv[0]; end $$`,
  `create trigger ledger_entries_stay before update on ledger_entries
    for each row execute function parley_refuse('ledger entries are never changed')`,
  `create trigger ledger_entries_remain before delete on ledger_entries
    for each row execute function parley_refuse('ledger entries are never removed')`,
];

/**
 * Usage records have no foreign keys: requests share locked rows of their accounts, and a check for each record would double the work
 * of the database. `counted` and `rate_uses` are JSON: another node releases these amounts if the node of the request dies.
 */
const records = ({ id, text, integer }: ColumnTypes) => [
  `create table usage_records (
    id ${id} primary key, account_id ${id} not null, key_id ${id} not null, operation ${text} not null, model ${text},
    wire ${text} not null, state ${text} not null, http_status ${integer}, code ${text}, started_at_ms ${integer} not null,
    first_output_ms ${integer}, duration_ms ${integer}, audio_ms_in ${integer}, audio_ms_out ${integer}, characters ${integer},
    prompt_tokens ${integer}, completion_tokens ${integer}, total_tokens ${integer}, tokens_source ${text},
    hold_nano_credits ${integer} not null, price_input ${integer}, price_output ${integer}, fair_use_units ${integer},
    cost_nano_credits ${integer}, overrun_nano_credits ${integer}, node_epoch ${integer}, counted text, rate_uses text,
    cached_tokens ${integer}, cache_write_tokens ${integer}, engine ${text}, reserved_nano_credits ${integer}, cause text,
    end_user ${text}, tags ${text}
  ) partition by range (id)`,
  'create index usage_records_by_account on usage_records (account_id, id)',
  `create index usage_records_open on usage_records (node_epoch) where state = 'started'`,
  // The default partition: records whose time is outside all others.
  'create table usage_records_rest partition of usage_records default',
];

/** The nodes that share the database, and the rates of keys and accounts over all nodes. */
const nodes = ({ text, integer }: ColumnTypes) => [
  `create table nodes (
    epoch bigint generated always as identity primary key, name text not null, version text not null,
    lease_until timestamptz not null, dead boolean not null default false)`,
  'create index kept_answers_open on kept_answers (node_epoch) where answer is null',
  `create table rates (
    owner ${text} primary key, minute ${integer} not null, requests ${integer} not null, tokens ${integer} not null,
    running ${integer} not null)`,
  // The migrations that a program must know to use the database. Those that only add are not listed, so that programs of the
  // previous version continue beside newer ones.
  `create table needed_migrations (name ${text} primary key)`,
];

export const postgresTables = (types: ColumnTypes) => [
  ...accountTables(types, `policy_version ${types.integer} default 0 not null`, ''),
  ...countTables(types, `reserved ${types.integer} default 0 not null check (reserved >= 0), `),
  ...traceTables(types, `node_epoch ${types.integer}, `),
  ...alertTables(types),
  ...ledger(types),
  ...records(types),
  ...nodes(types),
  ...policy,
  `create index usage_records_huge on usage_records (id) where ${isHuge}`,
  ...sumTables(types),
  ...secretTables(types),
];
