/** The books of a store, read over a separate connection while the program runs or after it was killed. */
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';

const amounts = [
  ...['requests', 'characters', 'audio_ms_in', 'audio_ms_out', 'prompt_tokens', 'completion_tokens'],
  ...['cached_tokens', 'cache_write_tokens', 'fair_use_units', 'cost_nano_credits'],
];

/** Each query finds rows that break its rule. @param day SQL for the day (UTC) on which a request started */
export const rulesBy = (day: string): Readonly<Record<string, string>> => ({
  'the balance is the sum of the entries': `
    select * from (
      select name, balance_nano_credits as balance,
        (select coalesce(sum(amount_nano_credits), 0) from ledger_entries where account_id = a.id) as entries
      from accounts as a) as sums
    where balance <> entries`,
  'held is the sum of the holds of what runs': `
    select * from (
      select name, held_nano_credits as held,
        (select coalesce(sum(hold_nano_credits), 0) from usage_records
          where account_id = a.id and state = 'started') as holds
      from accounts as a) as sums
    where held <> holds`,
  'held is at least nothing and at most the balance': `
    select name, balance_nano_credits, held_nano_credits from accounts
    where held_nano_credits < 0 or held_nano_credits > balance_nano_credits`,
  'used units are those of what has ended, in the month of its start': `
    select * from (
      select owner, period, used,
        (select coalesce(sum(u.fair_use_units), 0) from usage_records as u
          where u.account_id = owner and state <> 'started' and substr(${day}, 1, 7) = period) as ended
      from limit_counts where unit = 'fair_use') as counts
    where used <> ended`,
  'the stored sums are those of what has ended': `
    select * from (
      select day, account_id, key_id, operation, model, state, ${amounts.map((name) => `sum(${name}) as ${name}`).join(', ')} from (
        select ${day} as day, account_id, key_id, operation, case state when 'refused' then '' else coalesce(model, '') end as model,
          state, 1 as requests, ${amounts
            .slice(1)
            .map((name) => `coalesce(${name}, 0) as ${name}`)
            .join(', ')}
        from usage_records where state <> 'started'
        union all select day, account_id, key_id, operation, model, state, ${amounts.map((name) => `-${name}`).join(', ')}
        from usage_sums) as all_rows
      group by day, account_id, key_id, operation, model, state) as differences
    where ${amounts.map((name) => `${name} <> 0`).join(' or ')}`,
  'what has ended sets nothing aside': `
    select id, state, hold_nano_credits from usage_records
    where state <> 'started' and hold_nano_credits <> 0`,
  'a debit is the cost of a request that ended well or was cancelled': `
    select reference, amount_nano_credits, state, cost_nano_credits
    from ledger_entries as l left join usage_records as u on u.id = reference and u.account_id = l.account_id
    where kind = 'debit'
      and (state is null or state not in ('ok', 'cancelled') or amount_nano_credits <> -cost_nano_credits)`,
  'a cost has its one debit': `
    select u.id, cost_nano_credits, count(reference) as debits
    from usage_records as u left join ledger_entries on reference = u.id and kind = 'debit'
    where cost_nano_credits > 0
    group by u.id, cost_nano_credits having count(reference) <> 1`,
  'an entry is made once for its reference': `
    select account_id, reference from ledger_entries group by account_id, reference having count(*) > 1`,
});
const rules = rulesBy("strftime('%Y-%m-%d', started_at_ms / 1000, 'unixepoch')");

export interface BookedRecord {
  readonly account: string;
  /** The ids of its account and its key. */
  readonly owners: readonly [string, string];
  readonly id: string;
  readonly operation: string;
  readonly state: string;
  readonly httpStatus: number | undefined;
  readonly code: string | undefined;
  readonly startedAtMs: number;
  readonly characters: number | undefined;
  readonly audioMsIn: number | undefined;
  readonly promptTokens: number | undefined;
  readonly completionTokens: number | undefined;
  readonly tokensSource: string | undefined;
  readonly cachedTokens: number | undefined;
  readonly cacheWriteTokens: number | undefined;
  readonly units: number | undefined;
  readonly cost: bigint | undefined;
  readonly overrun: bigint | undefined;
}

interface BookedEntry {
  readonly account: string;
  readonly kind: string;
  readonly amount: bigint;
  readonly reference: string;
}

interface BookedUnits {
  readonly account: string;
  readonly month: string;
  readonly used: number;
  /** 0 on SQLite, where running requests are in memory. */
  readonly reserved: number;
}

export interface BookedCount {
  /** The id of an account or of a key. */
  readonly owner: string;
  readonly unit: string;
  /** A day, a month or `all`. */
  readonly period: string;
  readonly used: bigint;
  /** None on SQLite, where running requests are in memory. */
  readonly reserved?: bigint;
}

export interface Books {
  /** The broken rules; empty if all hold. */
  readonly faults: readonly string[];
  readonly accounts: readonly { readonly name: string; readonly balance: bigint; readonly held: bigint }[];
  readonly records: readonly BookedRecord[];
  /** Entries in the order in which they were made. */
  readonly entries: readonly BookedEntry[];
  readonly units: readonly BookedUnits[];
  /** Counts against the limits of keys and accounts. */
  readonly counts: readonly BookedCount[];
}

/** Everything as of one moment, despite concurrent writes. */
export function readBooks(dataDir: string): Books {
  return withBooks(dataDir, (books) => books.transaction(() => read(books))());
}

/** The faults that SQLite itself finds in the file. */
export function fileFaults(dataDir: string): unknown[] {
  return withBooks(dataDir, (books) => {
    const faults = books.prepare<unknown[], string>('pragma integrity_check').pluck().all();
    return [...faults.filter((fault) => fault !== 'ok'), ...books.prepare('pragma foreign_key_check').all()];
  });
}

function withBooks<T>(dataDir: string, use: (books: Sqlite.Database) => T): T {
  const books = new Sqlite(join(dataDir, 'parley.db'), { readonly: true });
  try {
    return use(books);
  } finally {
    books.close();
  }
}

function read(books: Sqlite.Database): Books {
  const all = (sql: string): unknown[] => books.prepare<unknown[], unknown>(sql).safeIntegers().all();
  return toBooks({
    broken: Object.entries(rules).map(([rule, sql]) => [rule, books.prepare(sql).all()]),
    accounts: all(selectAccounts),
    records: all(selectRecords),
    entries: all(selectEntries),
    units: all(selectUnits()),
    counts: all(selectCounts),
  });
}

interface Rows {
  /** The rules with the rows that break them. */
  readonly broken: readonly (readonly [rule: string, rows: readonly unknown[]])[];
  readonly accounts: readonly unknown[];
  readonly records: readonly unknown[];
  readonly entries: readonly unknown[];
  readonly units: readonly unknown[];
  readonly counts: readonly unknown[];
}

/** Integers are bigints. */
export function toBooks({ broken, accounts, records, entries, units, counts }: Rows): Books {
  const text = (row: unknown) =>
    JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  return {
    faults: broken.flatMap(([rule, rows]) => rows.map((row) => `${rule}: ${text(row)}`)),
    accounts: accounts as Books['accounts'],
    records: (records as readonly RecordRow[]).map(toRecord),
    entries: entries as Books['entries'],
    counts: counts as Books['counts'],
    units: (units as readonly UnitsRow[]).map((row) => ({
      ...row,
      used: Number(row.used),
      reserved: Number(row.reserved ?? 0n),
    })),
  };
}

export const selectAccounts =
  'select name, balance_nano_credits as balance, held_nano_credits as held from accounts order by id';
export const selectRecords = `
  select a.name as account, u.* from usage_records as u join accounts as a on a.id = account_id order by u.id`;
export const selectEntries = `
  select a.name as account, kind, amount_nano_credits as amount, reference
  from ledger_entries as l join accounts as a on a.id = account_id order by l.id`;
/** @param reserved the column of reserved units, for PostgreSQL */
export const selectUnits = (reserved = '') => `
  select a.name as account, period as month, used${reserved}
  from limit_counts join accounts as a on a.id = owner where unit = 'fair_use' order by account, month`;

export const selectCounts = `select * from limit_counts where unit <> 'fair_use' order by owner, unit, period`;

type UnitsRow = Record<'account' | 'month', string> & { readonly used: bigint; readonly reserved?: bigint };
type RecordRow = Record<'account' | 'account_id' | 'key_id' | 'id' | 'operation' | 'state', string> &
  Record<'code' | 'tokens_source', string | null> & { readonly started_at_ms: bigint } & Record<
    | 'http_status'
    | 'characters'
    | 'audio_ms_in'
    | 'prompt_tokens'
    | 'completion_tokens'
    | 'cached_tokens'
    | 'cache_write_tokens'
    | 'fair_use_units'
    | 'cost_nano_credits'
    | 'overrun_nano_credits',
    bigint | null
  >;

function toRecord(row: RecordRow): BookedRecord {
  const { account, id, operation, state } = row;
  return {
    account,
    id,
    operation,
    state,
    owners: [row.account_id, row.key_id],
    characters: numberOf(row.characters),
    audioMsIn: numberOf(row.audio_ms_in),
    httpStatus: numberOf(row.http_status),
    code: row.code ?? undefined,
    startedAtMs: Number(row.started_at_ms),
    promptTokens: numberOf(row.prompt_tokens),
    completionTokens: numberOf(row.completion_tokens),
    tokensSource: row.tokens_source ?? undefined,
    cachedTokens: numberOf(row.cached_tokens),
    cacheWriteTokens: numberOf(row.cache_write_tokens),
    units: numberOf(row.fair_use_units),
    cost: row.cost_nano_credits ?? undefined,
    overrun: row.overrun_nano_credits ?? undefined,
  };
}

function numberOf(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}
