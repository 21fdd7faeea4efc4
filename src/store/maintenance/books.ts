/** Rules for the books of a database, SQLite or PostgreSQL. */
import type { Dialect } from '../sql/statement.ts';

/** Each query finds an account with the fault. The queries need only the first schema. */
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
  'the reserved units are not those of the started requests': `
    select f.account_id as id from fair_use as f
    left join (select account_id, reserved_month, sum(reserved_units) as units from usage_records
      where state = 'started' group by account_id, reserved_month) as u
      on u.account_id = f.account_id and u.reserved_month = f.month
    where f.reserved_units <> coalesce(units, 0)`,
};

const monthOfStart: Readonly<Record<Dialect, string>> = {
  sqlite: "strftime('%Y-%m', started_at_ms / 1000, 'unixepoch')",
  postgres: "to_char(to_timestamp(started_at_ms / 1000) at time zone 'UTC', 'YYYY-MM')",
};
/** The used units of each month: those of records, and those of pruned records. */
const spentUnits = (dialect: Dialect) => `
  select account_id, ${monthOfStart[dialect]} as month, sum(fair_use_units) as units
  from usage_records where fair_use_units > 0 group by 1, 2`;
const prunedUnits = `
  union all select account_id, substr(day, 1, 7), sum(fair_use_units) from usage_rollups group by 1, 2`;
const usedUnits = (ended: string) => `
  select f.account_id as id from fair_use as f
  left join (select account_id, month, sum(units) as units from (${ended}) as ended group by 1, 2) as u
    on u.account_id = f.account_id and u.month = f.month
  where f.used_units <> coalesce(u.units, 0)`;

/**
 * Whole sentences; empty if the books are right.
 * @param find runs a query and returns the account of its first row
 * @param hasRollups whether there is the table `usage_rollups`. Default: true
 */
export async function bookFaults(
  dialect: Dialect,
  find: (sql: string) => Promise<string | undefined>,
  hasRollups = true,
): Promise<string[]> {
  const ended = hasRollups ? spentUnits(dialect) + prunedUnits : spentUnits(dialect);
  const queries = { ...faultQueries, 'the used units are not those of the ended requests': usedUnits(ended) };
  const faults: string[] = [];
  for (const [fault, sql] of Object.entries(queries)) {
    const account = await find(sql);
    if (account !== undefined) faults.push(`The books are wrong: ${fault} (account ${account}).`);
  }
  return faults;
}
