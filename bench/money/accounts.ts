import { createHash } from 'node:crypto';
import { nanoCredits } from '../../src/core/billing/money.ts';
import type { AccountId, AuditId, KeyId, LedgerEntryId } from '../../src/core/ids.ts';
import type { AuditEntry } from '../../src/core/ports/audit.ts';
import { scopes } from '../../src/core/ports/keys.ts';
import { openDatabase } from '../../src/store/sqlite/database.ts';
import { openStore } from '../../src/store/sqlite/sqlite-store.ts';

/** More than any run spends. */
const credits = nanoCredits(10n ** 18n);
const openedAtMs = Date.UTC(2026, 0, 1);
const audit = (n: number): AuditEntry => ({
  id: `aud_${n}` as AuditId,
  createdAtMs: openedAtMs,
  actor: 'bench',
  action: 'test',
  target: 'test',
  details: {},
});

/** Opens accounts with credits, a plan and a key each, and tells the keys' hashes. */
export async function openAccounts(dataDir: string, count: number): Promise<string[]> {
  const store = await openStore(dataDir);
  const open = async (_: unknown, n: number) => {
    const digits = hexOf(n);
    const accountId = `acc_${digits}` as AccountId;
    const hash = hashOf(n);
    await store.createAccount({ id: accountId, name: `account ${n}`, createdAtMs: openedAtMs }, audit(4 * n));
    const period = { startsAtMs: openedAtMs, endsAtMs: Number.MAX_SAFE_INTEGER };
    await store.setPlan(accountId, period, audit(4 * n + 1));
    const known = { accountId, reason: 'test', reference: 'first', createdAtMs: openedAtMs } as const;
    const load = { ...known, id: `led_${digits}` as LedgerEntryId, kind: 'load', amount: credits } as const;
    await store.enter(load, audit(4 * n + 2));
    const key = { id: `key_${digits}` as KeyId, accountId, kind: 'account', name: 'test', hash } as const;
    const validity = { createdAtMs: openedAtMs, expiresAtMs: undefined, revokedAtMs: undefined };
    await store.createKey({ ...key, ...validity, lastFour: hash.slice(-4), scopes }, audit(4 * n + 3));
    return hash;
  };
  const hashes = await Promise.all(Array.from({ length: count }, open));
  await store.close();
  return hashes;
}

/** Accounts do not lie in the order of their opening, as their ids have random digits. */
function hexOf(n: number): string {
  return openedAtMs.toString(16).padStart(12, '0') + hashOf(n).slice(0, 20);
}

function hashOf(n: number): string {
  return createHash('sha256').update(String(n)).digest('hex');
}

/** Adds finished chats, each with its debit of one nano-credit, spread over all accounts and in the order of their time. */
export async function addRecords(dataDir: string, count: number): Promise<void> {
  const connection = await openDatabase(dataDir);
  // Nothing of this is measured, and a crash would only end the run.
  connection.pragma('synchronous = OFF');
  connection.pragma('cache_size = -1000000');
  const ids = `
    with recursive
      account as materialized (
        select row_number() over (order by hash) - 1 as n, account_id, id as key_id from api_keys),
      chat (n) as (select 0 union all select chat.n + 1 from chat where chat.n + 1 < ${count})
    select 'req_' || printf('%012x%020d', ${openedAtMs} + chat.n, chat.n) as id,
      'led_' || printf('%012x%020d', ${openedAtMs} + chat.n, chat.n) as entry_id,
      account_id, key_id, ${openedAtMs} + chat.n as at_ms
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
