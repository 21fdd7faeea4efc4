/** Verifies a backup: the file is intact, and its books are right. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Connection } from '../sqlite/connection.ts';

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

/** The used units of each month: those of records, and those of pruned records. */
const spentUnits = `
  select account_id, strftime('%Y-%m', started_at_ms / 1000, 'unixepoch') as month, sum(fair_use_units) as units
  from usage_records where fair_use_units > 0 group by 1, 2`;
const prunedUnits = `
  union all select account_id, substr(day, 1, 7), sum(fair_use_units) from usage_rollups group by 1, 2`;
const usedUnits = (ended: string) => `
  select f.account_id as id from fair_use as f
  left join (select account_id, month, sum(units) as units from (${ended}) group by 1, 2) as u
    on u.account_id = f.account_id and u.month = f.month
  where f.used_units <> coalesce(u.units, 0)`;

/** Whole sentences; empty if the database is intact. */
export async function databaseFaults(connection: Connection): Promise<string[]> {
  const damage = connection.prepare<[], string>('pragma integrity_check(5)').pluck().all();
  if (damage[0] !== 'ok') return damage.map((fault) => `The file is damaged: ${fault}.`);
  const faults: string[] = [];
  if (connection.prepare('pragma foreign_key_check').get() !== undefined) {
    faults.push('A row refers to a missing one.');
  }
  for (const [fault, sql] of Object.entries(faultQueriesFor(connection))) {
    await nextTurn();
    const broken = connection.prepare<[], { id: string }>(sql).get();
    if (broken) faults.push(`The books are wrong: ${fault} (account ${broken.id}).`);
  }
  return faults;
}

function faultQueriesFor(connection: Connection): Record<string, string> {
  const hasRollups = connection.prepare("select 1 from sqlite_schema where name = 'usage_rollups'").get();
  const ended = hasRollups === undefined ? spentUnits : spentUnits + prunedUnits;
  return { ...faultQueries, 'the used units are not those of the ended requests': usedUnits(ended) };
}
