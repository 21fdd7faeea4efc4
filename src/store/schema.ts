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
}

interface AccountsTable {
  id: string;
  name: string;
  created_at_ms: Integer;
  /** The sum of the account's ledger entries, kept in the same write as each of them. */
  balance_nano_credits: Integer;
}

/** At most one trial and one plan an account. */
interface SubscriptionsTable {
  account_id: string;
  kind: 'trial' | 'plan';
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
  kind: 'load';
  amount_nano_credits: Integer;
  reason: string;
  idempotency_key: string;
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
  fair_use_units: OptionalInteger;
  cost_nano_credits: OptionalInteger;
}

export type UsageRow = Selectable<UsageRecordsTable>;
export type KeyRow = Selectable<ApiKeysTable>;
export type AccountRow = Selectable<AccountsTable>;
