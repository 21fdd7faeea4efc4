import { createApp } from '../../src/app/create-app.ts';
import { loadConfig } from '../../src/config/config.ts';
import { hashKey } from '../../src/core/values/key-secret.ts';
import { openDatabase } from '../../src/store/sqlite/database/open-database.ts';
import { openAccount } from '../servers/account.ts';

/** Opens accounts with credits, a plan and a key each. @returns the hashes of the keys */
export async function openAccounts(dataDir: string, count: number): Promise<string[]> {
  const overrides = { dataDir, server: { port: 0 }, log: { level: 'silent' } };
  const app = await createApp(loadConfig({ env: {}, overrides }));
  const secrets = await Promise.all(
    Array.from({ length: count }, (_, n) => openAccount(app, `account-${n}`)),
  );
  await app.close();
  return secrets.map(hashKey);
}

const startedAtMs = Date.UTC(2026, 0, 1);

/** Adds finished chats over all accounts in order of time, each with a debit of one nano-credit. */
export async function addRecords(dataDir: string, count: number): Promise<void> {
  const connection = await openDatabase(dataDir);
  // Setting up is not measured.
  connection.pragma('synchronous = OFF');
  connection.pragma('cache_size = -1000000');
  const ids = `
    with recursive
      account as materialized (
        select row_number() over (order by hash) - 1 as n, account_id, id as key_id from api_keys),
      chat (n) as (select 0 union all select chat.n + 1 from chat where chat.n + 1 < ${count})
    select 'req_' || printf('%012x%020d', ${startedAtMs} + chat.n, chat.n) as id,
      'led_' || printf('%012x%020d', ${startedAtMs} + chat.n, chat.n) as entry_id,
      account_id, key_id, ${startedAtMs} + chat.n as at_ms
    from chat join account on account.n = chat.n * 7919 % (select count(*) from api_keys)`;
  connection.transaction(() => {
    connection.exec(`create temp table chats as ${ids}`);
    connection.exec(`
      insert into usage_records (id, account_id, key_id, operation, model, wire, state, http_status, started_at_ms,
        first_output_ms, duration_ms, prompt_tokens, completion_tokens, total_tokens, tokens_source, reserved_units,
        hold_nano_credits, price_input, price_output, cost_nano_credits)
      select id, account_id, key_id, 'chat', 'eliza', 'rest', 'ok', 200, at_ms,
        5, 9, 1000, 250, 1250, 'reported', 0, 0, 100000000, 400000000, 1
      from chats order by id`);
    connection.exec(`
      insert into ledger_entries (id, account_id, kind, amount_nano_credits, reason, reference, created_at_ms)
      select entry_id, account_id, 'debit', -1, 'eliza', id, at_ms from chats order by entry_id`);
    connection.exec(`
      update accounts set balance_nano_credits = balance_nano_credits - spent
      from (select account_id, count(*) as spent from chats group by account_id)
      where account_id = accounts.id`);
  })();
  connection.pragma('wal_checkpoint(TRUNCATE)');
  connection.close();
}
