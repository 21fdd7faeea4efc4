import {
  type Books,
  rulesBy,
  selectAccounts,
  selectCounts,
  selectEntries,
  selectRecords,
  selectUnits,
  toBooks,
} from '../books.ts';
import { withClient } from './client.ts';

const rules = {
  ...rulesBy("to_char(to_timestamp(started_at_ms / 1000) at time zone 'UTC', 'YYYY-MM-DD')"),
  'reserved amounts are those of what runs': `
    select * from (
      select owner, unit, period, reserved,
        (select coalesce(sum((one ->> 'amount')::bigint), 0)
          from public.usage_records, jsonb_array_elements(counted::jsonb) as one
          where state = 'started' and one ->> 'owner' = owner and one ->> 'unit' = unit and one ->> 'period' = period)
          as running
      from limit_counts) as counts
    where reserved <> running`,
};

const idOf = (prefix: string, column: string) =>
  `'${prefix}_' || replace(${column}::text, '-', '') as ${column}`;

/** The tables in the form of SQLite: ids are texts, and a debit has its request as reference. */
const views = [
  `accounts as select ${idOf('acc', 'id')}, name, balance_nano_credits, held_nano_credits from public.accounts`,
  `ledger_entries as select ${idOf('led', 'id')}, ${idOf('acc', 'account_id')}, kind, amount_nano_credits,
    coalesce(reference, 'req_' || replace(id::text, '-', '')) as reference from public.ledger_entries`,
  `usage_records as select ${idOf('req', 'id')}, ${idOf('acc', 'account_id')}, ${idOf('key', 'key_id')},
    operation, model, state, http_status, code, characters, audio_ms_in, audio_ms_out,
    started_at_ms, prompt_tokens, completion_tokens, tokens_source, cached_tokens, cache_write_tokens, hold_nano_credits,
    fair_use_units, cost_nano_credits, overrun_nano_credits from public.usage_records`,
  `usage_sums as select day, ${idOf('acc', 'account_id')}, ${idOf('key', 'key_id')}, operation, model, state,
    requests, characters, audio_ms_in, audio_ms_out, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens,
    fair_use_units, cost_nano_credits from public.usage_sums`,
];

/** The books of a PostgreSQL database, as of one moment. */
export async function readPostgresBooks({ url }: { readonly url: string }): Promise<Books> {
  return withClient(url, async (client) => {
    const all = async (sql: string) => (await client.query(sql)).rows;
    // Views of this connection hide the tables.
    for (const view of views) await client.query(`create temporary view ${view}`);
    await client.query('begin isolation level repeatable read read only');
    const broken: [string, unknown[]][] = [];
    for (const [rule, sql] of Object.entries(rules)) broken.push([rule, await all(sql)]);
    return toBooks({
      broken,
      accounts: await all(selectAccounts),
      records: await all(selectRecords),
      entries: await all(selectEntries),
      units: await all(selectUnits(', reserved')),
      counts: await all(selectCounts),
    });
  });
}
