/** Fills an SQLite database with accounts, two keys of each, and any number of records of the last 90 days. */
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { newAccountId, newKeyId } from '../../src/core/values/ids.ts';
import { openStore } from '../../src/store/sqlite/open-store.ts';
import { auditEntry, storedKey } from './stored-key.ts';

const dayMs = 86_400_000;
export const filledDays = 90;

interface Filling {
  readonly accounts: number;
  readonly records: number;
  /** The end of the days that have records. */
  readonly untilMs: number;
}

export const accountNameOf = (n: number): string => `Filled ${n}`;

/**
 * The first accounts have most of the records, the second key of each has one of 5,000. Chat and speech are served, transcription never
 * is; one of 50 requests fails. The books are balanced.
 */
export async function fillRecords(dataDir: string, { accounts, records, untilMs }: Filling): Promise<void> {
  const store = await openStore(dataDir);
  const made: Promise<unknown>[] = [];
  for (let n = 1; n <= accounts; n++) {
    const id = newAccountId(n);
    const add = store.accounts.create({ id, name: accountNameOf(n), createdAtMs: n }, auditEntry());
    const keys = ['first', 'second'].map(async (name) => {
      await add;
      const keyId = newKeyId(n);
      await store.keys.create(storedKey(keyId, id, { name, hash: keyId }), auditEntry());
    });
    made.push(...keys);
    if (n % 500 === 0) await Promise.all(made.splice(0));
  }
  await Promise.all(made);
  await store.close();
  const database = new Sqlite(join(dataDir, 'parley.db'));
  try {
    database.pragma('synchronous = off');
    database.pragma('cache_size = -200000');
    database.exec(fillSql({ accounts, records, untilMs }));
  } finally {
    database.close();
  }
}

function fillSql({ accounts, records, untilMs }: Filling): string {
  const fromMs = untilMs - filledDays * dayMs;
  const word = (text: string) => `(select number from words where word = '${text}')`;
  const account = `cast(${accounts} * u * u * u as integer)`;
  const isSpeech = 'random % 32 = 0';
  const state = `case when random % 50 = 1 then 'failed' else 'ok' end`;
  const isBilled = `not (${isSpeech}) and ${state} = 'ok'`;
  return `begin;
    insert into words (word) values ('filled-chat'), ('filled-speech'), ('upstream_error') on conflict do nothing;
    create temp table owners (place integer primary key, account integer, first integer, second integer);
    insert into owners select row_number() over (order by accounts.number) - 1, accounts.number, min(api_keys.number), max(api_keys.number)
      from accounts join api_keys on account_id = accounts.id where accounts.name like 'Filled %' group by accounts.number;
    insert into usage_rows (id, account, key, operation, model, wire, state, http_status, code, started_at_ms, first_output_ms,
      duration_ms, characters, prompt_tokens, completion_tokens, total_tokens, tokens_source, hold_nano_credits, cost_nano_credits)
    with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < ${records}),
      randoms as (select n, (n * 2654435761) % 4294967296 as random from numbers),
      facts as (select n, random, random / 4294967296.0 as u, ${fromMs} + n * ${filledDays * dayMs} / ${records} as ms from randoms)
    select unhex(printf('%012x%020x', ms, n)), owners.account,
      case when n % 5000 = 4999 then owners.second else owners.first end,
      case when ${isSpeech} then ${word('speech')} else ${word('chat')} end,
      case when ${isSpeech} then ${word('filled-speech')} else ${word('filled-chat')} end, ${word('rest')},
      case ${state} when 'ok' then ${word('ok')} else ${word('failed')} end,
      case ${state} when 'ok' then 200 else 502 end,
      case ${state} when 'ok' then null else ${word('upstream_error')} end,
      ms, random % 900, random % 4000, case when ${isSpeech} then random % 300 end,
      case when not (${isSpeech}) then random % 2000 end, case when not (${isSpeech}) then random % 500 end,
      case when not (${isSpeech}) then random % 2000 + random % 500 end,
      case when not (${isSpeech}) then ${word('reported')} end, 0, case when ${isBilled} then 1000 + random % 9000 end
      from facts join owners on owners.place = ${account};
    insert into ledger_rows (account, id, kind, amount_nano_credits, reason, reference, created_at_ms)
      select account, id, ${word('debit')}, -cost_nano_credits, model, null, started_at_ms from usage_rows
      where cost_nano_credits is not null order by account, id;
    insert into ledger_rows (account, id, kind, amount_nano_credits, reason, reference, created_at_ms)
      select account, unhex(printf('%012x%020x', ${fromMs}, account)), ${word('load')}, 1000000000000, 'filled', 'filled', ${fromMs}
      from owners;
    update accounts set balance_nano_credits = sums.balance from
      (select account, sum(amount_nano_credits) as balance from ledger_rows group by account) as sums where number = sums.account;
    update api_keys set last_used_at_ms = ${untilMs} where number in (select first from owners);
    insert into usage_sums (day, account_id, key_id, operation, model, state, requests, characters, prompt_tokens, completion_tokens, cost_nano_credits)
      select strftime('%Y-%m-%d', started_at_ms / 1000, 'unixepoch') as day, account_id, key_id, operation, model, state, count(*),
        coalesce(sum(characters), 0), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0), coalesce(sum(cost_nano_credits), 0)
      from usage_records where model like 'filled-%' group by day, account_id, key_id, operation, model, state;
    commit;`;
}
