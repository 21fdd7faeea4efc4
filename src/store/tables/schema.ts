/** The tables as Kysely sees them. The driver gives every integer as a bigint, so that money never passes a float. */
import type { ColumnType, Selectable } from 'kysely';

type Integer = ColumnType<bigint, number | bigint, number | bigint>;
type OptionalInteger = ColumnType<bigint | null, number | bigint | null, number | bigint | null>;

export interface Database {
  accounts: AccountsTable;
  subscriptions: SubscriptionsTable;
  api_keys: ApiKeysTable;
  ledger_entries: LedgerEntriesTable;
  fair_use: FairUseTable;
  usage_records: UsageRecordsTable;
  usage_rollups: UsageRollupsTable;
  kept_answers: KeptAnswersTable;
  audit_entries: AuditEntriesTable;
}

interface AccountsTable {
  id: string;
  name: string;
  created_at_ms: Integer;
  /** The sum of the account's ledger entries, kept in the same write as each of them. */
  balance_nano_credits: Integer;
  /** The sum of the holds of the account's started records, likewise. */
  held_nano_credits: Integer;
}

export type SubscriptionKind = 'trial' | 'plan';

/** At most one trial and one plan an account. */
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
}

interface LedgerEntriesTable {
  id: string;
  account_id: string;
  kind: 'load' | 'debit' | 'adjustment';
  /** Below zero for what is taken. */
  amount_nano_credits: Integer;
  reason: string;
  /** Of a debit the request's id, of the others the idempotency key. */
  reference: string;
  created_at_ms: Integer;
}

interface FairUseTable {
  account_id: string;
  month: string;
  used_units: Integer;
  reserved_units: Integer;
}

interface UsageRecordsTable {
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
  /** What the request has set aside while it runs, and of which month. */
  reserved_units: Integer;
  reserved_month: string | null;
  /** Credits that it holds while it runs, and the prices of that moment. */
  hold_nano_credits: Integer;
  price_input: OptionalInteger;
  price_output: OptionalInteger;
  fair_use_units: OptionalInteger;
  cost_nano_credits: OptionalInteger;
  overrun_nano_credits: OptionalInteger;
}

/** What usage records that were pruned came to. */
interface UsageRollupsTable {
  /** Of UTC, such as `2026-11-21`: the day on which the requests started. */
  day: string;
  account_id: string;
  operation: string;
  model: string;
  state: string;
  requests: Integer;
  characters: Integer;
  audio_ms_in: Integer;
  audio_ms_out: Integer;
  prompt_tokens: Integer;
  completion_tokens: Integer;
  fair_use_units: Integer;
  cost_nano_credits: Integer;
}

/** Answers to requests with an Idempotency-Key. */
interface KeptAnswersTable {
  account_id: string;
  operation: string;
  key: string;
  fingerprint: string;
  request_id: string;
  created_at_ms: Integer;
  answer: Buffer | null;
}

interface AuditEntriesTable {
  id: string;
  created_at_ms: Integer;
  actor: string;
  action: string;
  target: string;
  details: string;
}

export type UsageRow = Selectable<UsageRecordsTable>;
export type KeyRow = Selectable<ApiKeysTable>;
export type AccountRow = Selectable<AccountsTable>;
export type LedgerRow = Selectable<LedgerEntriesTable>;
export type AuditRow = Selectable<AuditEntriesTable>;
