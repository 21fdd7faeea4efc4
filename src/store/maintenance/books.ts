/** Rules for the books of a database, SQLite or PostgreSQL. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { DatabaseKind } from '../migrations/column-types.ts';
import { isHuge } from '../migrations/shared-tables.ts';
import type { Connection } from '../sqlite/database/connection.ts';

/** Each query finds an account with the fault. */
const faultQueries: Readonly<Record<string, string>> = {
  'the balance is not the sum of the entries': `
    select a.id from accounts as a
    left join (select account_id, sum(amount_nano_credits) as entries from ledger_entries group by account_id) as l
      on l.account_id = a.id
    where a.balance_nano_credits <> coalesce(entries, 0)`,
  'the held credits are not the sum of the open holds': `
    select a.id from accounts as a
    left join (select account_id, sum(hold_nano_credits) as holds from usage_records
      where state = 'started' group by account_id) as u on u.account_id = a.id
    where a.held_nano_credits <> coalesce(holds, 0)`,
  'the held credits are below zero or above the balance': `
    select id from accounts where held_nano_credits < 0 or held_nano_credits > balance_nano_credits`,
};

const monthOfStart: Readonly<Record<DatabaseKind, string>> = {
  sqlite: "strftime('%Y-%m', started_at_ms / 1000, 'unixepoch')",
  postgres: "to_char(to_timestamp(started_at_ms / 1000) at time zone 'UTC', 'YYYY-MM')",
};

/** The units of each account and month. SQLite has those of running requests in memory. */
const fairUse: Readonly<Record<DatabaseKind, string>> = {
  sqlite: `select owner as account_id, period as month, used from limit_counts where unit = 'fair_use'`,
  postgres: `select substr(owner, 5)::uuid as account_id, period as month, used, reserved from limit_counts
    where unit = 'fair_use'`,
};
/** PostgreSQL: the units that running requests reserve. */
const running = `
  select account_id, one ->> 'period' as month, (one ->> 'amount')::bigint as units
  from usage_records, jsonb_array_elements(counted::jsonb) as one
  where state = 'started' and one ->> 'unit' = 'fair_use'`;
/** The units that ended requests have used. */
const spentUnits = (dialect: DatabaseKind) => `
  select account_id, ${monthOfStart[dialect]} as month, fair_use_units as units
  from usage_records where fair_use_units > 0 and (${isHuge})
  union all select account_id, substr(day, 1, 7), fair_use_units from usage_sums`;

/** Finds an account whose units are not the sum of those of its requests. */
function unequalUnits(column: 'used' | 'reserved', units: string, requests: string): string {
  return `
  select f.account_id as id from (${units}) as f
  left join (select account_id, month, sum(units) as units from (${requests}) as requests group by 1, 2) as u
    on u.account_id = f.account_id and u.month = f.month
  where f.${column} <> coalesce(u.units, 0)`;
}

/**
 * Whole sentences; empty if the books are right.
 * @param find runs a query and returns the account of its first row
 */
export async function bookFaults(
  dialect: DatabaseKind,
  find: (sql: string) => Promise<string | undefined>,
): Promise<string[]> {
  const queries: [fault: string, sql: string][] = Object.entries(faultQueries);
  if (dialect === 'postgres') {
    const reserved = unequalUnits('reserved', fairUse.postgres, running);
    queries.push(['the reserved units are not those of the started requests', reserved]);
  }
  const used = unequalUnits('used', fairUse[dialect], spentUnits(dialect));
  queries.push(['the used units are not those of the ended requests', used]);
  const faults: string[] = [];
  for (const [fault, sql] of queries) {
    const account = await find(sql);
    if (account !== undefined) faults.push(`The books are wrong: ${fault} (account ${account}).`);
  }
  return faults;
}

/** Whole sentences; empty if the database is intact. @param onStep called before each step, which blocks this thread */
export async function databaseFaults(
  connection: Connection,
  onStep: (what: string) => void = () => undefined,
): Promise<string[]> {
  onStep('pages');
  const damage = connection.prepare<[], string>('pragma integrity_check(5)').pluck().all();
  if (damage[0] !== 'ok') return damage.map((fault) => `The file is damaged: ${fault}.`);
  const faults: string[] = [];
  onStep('references');
  if (connection.prepare('pragma foreign_key_check').get() !== undefined) {
    faults.push('A row refers to a missing one.');
  }
  const find = async (sql: string) => {
    await nextTurn();
    return connection.prepare<[], { id: string }>(sql).get()?.id;
  };
  onStep('books');
  return [...faults, ...(await bookFaults('sqlite', find))];
}
