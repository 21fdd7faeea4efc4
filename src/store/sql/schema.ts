/** The tables. The driver reads every integer as a bigint, so that money is never a float. */
import type { ColumnType, Insertable, Selectable } from 'kysely';
import type { sumColumns, sumKey } from '../migrations/shared-tables.ts';

type Integer = ColumnType<bigint, number | bigint, number | bigint>;
type OptionalInteger = ColumnType<bigint | null, number | bigint | null, number | bigint | null>;

export interface Database {
  accounts: AccountsTable;
  subscriptions: SubscriptionsTable;
  api_keys: ApiKeysTable;
  ledger_entries: LedgerEntriesTable;
  limit_counts: LimitCountsTable;
  usage_records: UsageRecordsTable;
  usage_sums: UsageSumsTable;
  kept_answers: KeptAnswersTable;
  audit_entries: AuditEntriesTable;
  policy: PolicyTable;
  alert_settings: AlertSettingsTable;
  waiting_addresses: WaitingAddressesTable;
  alert_marks: AlertMarksTable;
  alerts: AlertsTable;
  ended_sessions: EndedSessionsTable;
  secrets: SecretsTable;
}

/** Made with the table, and shared by the servers of the database. */
interface SecretsTable {
  purpose: 'reasoning';
  secret: string;
}

interface AccountsTable {
  id: string;
  name: string;
  created_at_ms: Integer;
  /** The sum of the account's ledger entries; each write of an entry updates it. */
  balance_nano_credits: Integer;
  /** The sum of the holds of the account's started records. Requests without a started record hold credits in memory only. */
  held_nano_credits: Integer;
  /** PostgreSQL: raised by each change of its keys, its name or its subscriptions. SQLite has no such column. */
  policy_version: ColumnType<bigint, undefined, bigint>;
  /** JSON; empty for none. */
  limits: ColumnType<string, string | undefined, string>;
  suspended_at_ms: OptionalInteger;
  deleted_at_ms: OptionalInteger;
}

export type SubscriptionKind = 'trial' | 'plan';

/** At most one trial and one plan for each account. */
interface SubscriptionsTable {
  account_id: string;
  kind: SubscriptionKind;
  starts_at_ms: Integer;
  ends_at_ms: Integer;
}

interface ApiKeysTable {
  id: string;
  account_id: string | null;
  kind: 'account' | 'admin';
  name: string;
  hash: string;
  last_four: string;
  /** Separated by spaces. */
  scopes: string;
  created_at_ms: Integer;
  expires_at_ms: OptionalInteger;
  revoked_at_ms: OptionalInteger;
  /** JSON; empty for none. */
  limits: string;
  /** The id of the key before its first rotation; empty for that key itself. */
  origin_id: string;
  last_used_at_ms: OptionalInteger;
  /** The label of the person whose session has the key; empty for other keys, as the two that follow. */
  person: string;
  /** The person's issuer and id there. */
  subject: string;
  /** The issuer and the id of the session there; also empty if the provider does not name it. */
  provider_session: string;
}

interface LedgerEntriesTable {
  id: string;
  account_id: string;
  kind: 'load' | 'debit' | 'adjustment';
  /** Negative for a debit. */
  amount_nano_credits: Integer;
  reason: string;
  /** Request id for debits, null on PostgreSQL; else the idempotency key. */
  reference: string | null;
  created_at_ms: Integer;
}

/** Amounts that count against fair use and limits. */
interface LimitCountsTable {
  /** The id of an account or of a key. */
  owner: string;
  unit: string;
  /** A day, a month or `all`. */
  period: string;
  /** The amount that ended requests have used. */
  used: Integer;
  /** The amount that running requests reserve. In PostgreSQL only, as SQLite's process has it in memory. */
  reserved: Integer;
}

export interface UsageRecordsTable {
  id: string;
  account_id: string;
  key_id: string;
  operation: string;
  model: string | null;
  wire: string;
  state: string;
  http_status: OptionalInteger;
  code: string | null;
  started_at_ms: Integer;
  first_output_ms: OptionalInteger;
  duration_ms: OptionalInteger;
  audio_ms_in: OptionalInteger;
  audio_ms_out: OptionalInteger;
  characters: OptionalInteger;
  prompt_tokens: OptionalInteger;
  completion_tokens: OptionalInteger;
  total_tokens: OptionalInteger;
  tokens_source: string | null;
  cached_tokens: OptionalInteger;
  cache_write_tokens: OptionalInteger;
  engine: string | null;
  /** Credits that were held for an ended request. */
  reserved_nano_credits: OptionalInteger;
  /** Failed engines, the limit that refused and returned units: JSON. */
  cause: string | null;
  /** As the client named them. */
  end_user: string | null;
  /** Separated by commas. */
  tags: string | null;
  /** Credits that the request holds while it runs, and the prices at its start. */
  hold_nano_credits: Integer;
  price_input: OptionalInteger;
  price_output: OptionalInteger;
  fair_use_units: OptionalInteger;
  cost_nano_credits: OptionalInteger;
  overrun_nano_credits: OptionalInteger;
  /** PostgreSQL: the node that began the request. SQLite has no such column. */
  node_epoch: OptionalInteger;
  /** Counted amounts of a running request: JSON. In PostgreSQL only. */
  counted: string | null;
  /** JSON. On PostgreSQL only. */
  rate_uses: string | null;
}

/**
 * Sums of ended requests, also of those whose records were pruned. The day (UTC) is that of the start, such as `2026-11-21`; the
 * key is empty for records that were pruned before sums were kept by key.
 */
type UsageSumsTable = Record<(typeof sumKey)[number], string> & Record<(typeof sumColumns)[number], Integer>;

/** Idempotency records. */
interface KeptAnswersTable {
  account_id: string;
  operation: string;
  key: string;
  fingerprint: string;
  request_id: string;
  created_at_ms: Integer;
  /** Null while the first request runs. */
  answer: Buffer | null;
  /** PostgreSQL: the node of the first request. SQLite has no such column. */
  node_epoch: OptionalInteger;
}

interface AuditEntriesTable {
  id: string;
  created_at_ms: Integer;
  actor: string;
  action: string;
  target: string;
  details: string;
}

/** A table with one row. */
interface PolicyTable {
  /** Raised by each change of a key, the name of an account or a subscription. */
  version: Integer;
}

interface AlertSettingsTable {
  account_id: string;
  webhook_url: string | null;
  secret: string | null;
  /** Separated by spaces. */
  percents: string;
  balance_below: OptionalInteger;
  webhook_off_at_ms: OptionalInteger;
}

interface WaitingAddressesTable {
  account_id: string;
  address: string;
  code_hash: string | null;
  sent_at_ms: OptionalInteger;
  expires_at_ms: OptionalInteger;
  last_failure: string | null;
}

interface AlertMarksTable {
  account_id: string;
  kind: string;
  subject: string;
  period: string;
  basis: string;
  threshold: Integer;
}

interface AlertsTable {
  id: string;
  account_id: string;
  kind: string;
  created_at_ms: Integer;
  /** JSON. */
  details: string;
  state: string;
  attempts: Integer;
  next_attempt_at_ms: OptionalInteger;
  delivered_at_ms: OptionalInteger;
  last_failure: string | null;
}

interface EndedSessionsTable {
  owner: string;
  session: string;
  until_ms: Integer;
}

export type AlertSettingsRow = Selectable<AlertSettingsTable>;
export type WaitingAddressRow = Selectable<WaitingAddressesTable>;
export type AlertMarkRow = Selectable<AlertMarksTable>;
export type AlertRow = Selectable<AlertsTable>;
export type KeyRow = Selectable<ApiKeysTable>;
export type NewKeyRow = Insertable<ApiKeysTable>;
export type AccountRow = Selectable<AccountsTable>;
export type LedgerRow = Selectable<LedgerEntriesTable>;
export type AuditRow = Selectable<AuditEntriesTable>;

/** Sorts after every id and every day, as text and as bytes. */
export const afterAll = `zzz_${'f'.repeat(32)}`;

export function optionalNumber(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}

export function optionalText(value: string | null): string | undefined {
  return value ?? undefined;
}
