/** Tables that have the same form in both databases, apart from their types. */
import type { ColumnTypes } from './column-types.ts';

/** Accounts, subscriptions and keys. Limits are JSON; empty for none. @param ofAccounts further columns, as of keys */
export const accountTables = (
  { id, text, integer, keyed }: ColumnTypes,
  ofAccounts: string,
  ofKeys: string,
) => [
  `create table accounts (
    id ${id} primary key, name ${text} not null unique, created_at_ms ${integer} not null,
    balance_nano_credits ${integer} not null check (balance_nano_credits >= held_nano_credits),
    held_nano_credits ${integer} not null check (held_nano_credits >= 0),
    limits text default '' not null, suspended_at_ms ${integer}, deleted_at_ms ${integer}, ${ofAccounts}
  ) ${keyed}`,
  `create table subscriptions (
    account_id ${id} not null references accounts (id), kind ${text} not null check (kind in ('trial', 'plan')),
    starts_at_ms ${integer} not null, ends_at_ms ${integer} not null,
    constraint subscriptions_key primary key (account_id, kind)
  ) ${keyed}`,
  // origin_id: the key before its first rotation. The last three are those of people who sign in with an identity provider.
  `create table api_keys (
    id ${id} primary key, account_id ${id} references accounts (id),
    kind ${text} not null check ((kind = 'admin') = (account_id is null)), name ${text} not null,
    hash ${text} not null unique, last_four ${text} not null, scopes ${text} not null, created_at_ms ${integer} not null,
    expires_at_ms ${integer}, revoked_at_ms ${integer}, limits text default '' not null, origin_id text default '' not null,
    last_used_at_ms ${integer}, ${ofKeys}person text default '' not null, subject text default '' not null,
    provider_session text default '' not null
  ) ${keyed}`,
  'create index api_keys_by_account on api_keys (account_id, id)',
  `create index api_keys_subject on api_keys (subject) where subject <> ''`,
  `create index api_keys_provider_session on api_keys (provider_session) where provider_session <> ''`,
];

/** Amounts that count against limits. The owner is an account or a key, the period a day, a month or `all`. */
export const countTables = ({ text, integer, keyed }: ColumnTypes, further: string) => [
  `create table limit_counts (
    owner ${text} not null, unit ${text} not null, period ${text} not null, used ${integer} not null check (used >= 0),
    ${further}constraint limit_counts_key primary key (owner, unit, period)
  ) ${keyed}`,
];

export const summedColumns = [
  'characters',
  'audio_ms_in',
  'audio_ms_out',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cache_write_tokens',
  'fair_use_units',
  'cost_nano_credits',
] as const;
export const sumColumns = ['requests', ...summedColumns] as const;
export const sumKey = ['day', 'account_id', 'key_id', 'operation', 'model', 'state'] as const;

/** Sums of ended requests by day (UTC). The key starts with the day, because totals are read by day. */
export const sumTables = ({ id, text, integer, keyed }: ColumnTypes) => [
  `create table usage_sums (
    day ${text} not null, account_id ${id} not null, key_id ${id} not null, operation ${text} not null, model ${text} not null,
    state ${text} not null, ${sumColumns.map((sum) => `${sum} ${integer} default 0 not null`).join(', ')},
    constraint usage_sums_key primary key (${sumKey.join(', ')})
  ) ${keyed}`,
  'create index usage_sums_by_account on usage_sums (account_id, day)',
];

/** Secrets that the servers of a database share, for signatures that outlive them. */
export const secretTables = ({ text, keyed }: ColumnTypes) => [
  `create table secrets (purpose ${text} primary key, secret text not null) ${keyed}`,
];

/** An upstream may report any number. Records with larger ones are in no sum and are not pruned, so that no sum overflows. */
export const amountMax = 2 ** 40;
export const reportedColumns = [
  'audio_ms_in',
  'audio_ms_out',
  'prompt_tokens',
  'completion_tokens',
  'cached_tokens',
  'cache_write_tokens',
] as const;
export const isHuge = reportedColumns.map((column) => `${column} >= ${amountMax}`).join(' or ');

/** Idempotency records: the answer is null while the first request runs. Audit entries, and ended sessions of the console. */
export const traceTables = ({ id, text, integer, bytes, keyed, plain }: ColumnTypes, ofAnswers: string) => [
  `create table kept_answers (
    account_id ${id} not null references accounts (id), operation ${text} not null, key ${text} not null,
    fingerprint ${text} not null, request_id ${id} not null, created_at_ms ${integer} not null, answer ${bytes},
    ${ofAnswers}constraint kept_answers_key primary key (account_id, operation, key)
  ) ${plain}`,
  'create index kept_answers_by_age on kept_answers (created_at_ms)',
  `create table audit_entries (
    id ${id} primary key, created_at_ms ${integer} not null, actor ${text} not null, action ${text} not null,
    target ${text} not null, details ${text} not null
  ) ${keyed}`,
  // The owner is a key; that of the environment has no row in api_keys. The session could last until then.
  `create table ended_sessions (
    owner ${text} not null, session ${text} not null, until_ms ${integer} not null,
    constraint ended_sessions_key primary key (owner, session)
  ) ${keyed}`,
];

/** Settings of alerts, passed thresholds, alerts with their delivery, and addresses that wait for their confirmation. */
export const alertTables = ({ id, text, integer, keyed }: ColumnTypes) => [
  // The secret is sealed if the server has a key to seal with. Percents are separated by spaces.
  `create table alert_settings (
    account_id ${id} primary key references accounts (id), webhook_url text, secret text, percents text not null,
    balance_below ${integer}, webhook_off_at_ms ${integer}
  ) ${keyed}`,
  // One row for each watched amount: its highest passed threshold. It starts again with another basis (the limit, amount or end of
  // the threshold), and only in a later period, as the clocks of nodes differ.
  `create table alert_marks (
    account_id ${id} not null references accounts (id), kind ${text} not null, subject ${text} not null,
    period ${text} not null, basis ${text} not null, threshold ${integer} not null,
    constraint alert_marks_key primary key (account_id, kind, subject)
  ) ${keyed}`,
  `create table alerts (
    id ${id} primary key, account_id ${id} not null references accounts (id), kind ${text} not null,
    created_at_ms ${integer} not null, details text not null, state ${text} not null, attempts ${integer} not null,
    next_attempt_at_ms ${integer} check ((state = 'pending') = (next_attempt_at_ms is not null)),
    delivered_at_ms ${integer}, last_failure text
  ) ${keyed}`,
  'create index alerts_by_account on alerts (account_id, id)',
  `create index alerts_pending on alerts (account_id, id) where state = 'pending'`,
  // The SHA-256 of the code in the latest mail; null if none was sent.
  `create table waiting_addresses (
    account_id ${id} not null references accounts (id), address ${text} not null, code_hash text, sent_at_ms ${integer},
    expires_at_ms ${integer}, last_failure text, constraint waiting_addresses_key primary key (account_id, address)
  ) ${keyed}`,
];
