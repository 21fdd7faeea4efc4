/** Kills the upgrade that copies usage records and ledger entries into smaller tables, and starts it again. */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { databaseFaults } from '../../../src/store/maintenance/verify.ts';
import { openDatabase } from '../../../src/store/sqlite/database/open-database.ts';
import { ended, parley, startParley } from '../../support/command-line.ts';

const chats = 60_000;
const before = new URL('./schemas/0011-fair-use-counts.sql', import.meta.url);

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-carry-over-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

function inDatabase<T>(use: (database: Sqlite.Database) => T): T {
  const database = new Sqlite(join(dataDir, 'parley.db'), { timeout: 5_000 });
  try {
    return use(database);
  } finally {
    database.close();
  }
}

/** A database of the schema before, with many chats of its account. */
function layDown(): void {
  inDatabase((database) => {
    database.exec(readFileSync(before, 'utf8'));
    const at = `1793534500000 + n`;
    const chat = `with recursive chat (n) as (select 0 union all select n + 1 from chat where n + 1 < ${chats}),
      owner as (select account_id, id as key_id from api_keys where name = 'app')`;
    database.exec(`
      insert into usage_records (id, account_id, key_id, operation, model, wire, state, http_status, started_at_ms,
        prompt_tokens, completion_tokens, total_tokens, tokens_source, reserved_units, hold_nano_credits, cost_nano_credits)
      ${chat} select 'req_' || printf('%012x%020d', ${at}, n), account_id, key_id, 'chat', 'model ' || n % 7, 'rest', 'ok',
        200, ${at}, n, n % 100, n + n % 100, 'reported', 0, 0, 1 from chat, owner;
      insert into ledger_entries (id, account_id, kind, amount_nano_credits, reason, reference, created_at_ms)
      ${chat} select 'led_' || printf('%012x%020d', ${at}, n), account_id, 'debit', -1, 'model ' || n % 7,
        'req_' || printf('%012x%020d', ${at}, n), ${at} from chat, owner;
      update accounts set balance_nano_credits = balance_nano_credits - ${chats} where name = 'acme ü'`);
  });
  chmodSync(join(dataDir, 'parley.db'), 0o600);
}

const usage = `id, account_id, key_id, operation, model, wire, state, http_status, code, started_at_ms, first_output_ms, duration_ms,
  audio_ms_in, audio_ms_out, characters, prompt_tokens, completion_tokens, total_tokens, tokens_source, hold_nano_credits,
  price_input, price_output, fair_use_units, cost_nano_credits, overrun_nano_credits`;
const entries = 'id, account_id, kind, amount_nano_credits, reason, reference, created_at_ms';

function contents(): unknown[] {
  return inDatabase((database) => [
    database.prepare(`select ${usage} from usage_records order by id`).safeIntegers().raw().all(),
    database.prepare(`select ${entries} from ledger_entries order by id`).safeIntegers().raw().all(),
  ]);
}

/** The rows of a table so far; undefined while there is no such table. */
function countOf(table: string): number | undefined {
  return inDatabase((database) => {
    const has = database.prepare<[string], 1>('select 1 from sqlite_schema where name = ?').get(table);
    return has === undefined
      ? undefined
      : Number(database.prepare(`select count(*) from ${table}`).pluck().get());
  });
}

it.each([
  ['records', 'usage_rows'],
  ['entries', 'ledger_rows'],
])('an upgrade that is killed among the %s goes on, and loses nothing', async (_, table) => {
  layDown();
  const kept = contents();
  const program = startParley(['migrate', '--data-dir', dataDir], { cwd: dataDir });
  const end = ended(program);
  await expect.poll(() => countOf(table) ?? 0, { interval: 1 }).toBeGreaterThan(0);
  program.kill('SIGKILL');
  expect(await end).toMatchObject({ signal: 'SIGKILL' });
  expect(countOf(table)).toBeGreaterThan(0);
  expect(countOf(table)).toBeLessThan(chats);
  // The tables before are whole, so a backup of this moment would be.
  expect(contents()).toEqual(kept);
  const { stdout } = await parley(['migrate', '--data-dir', dataDir], { cwd: dataDir });
  expect(stdout).toMatch(/^Applied 0013-text-views\.\n/);
  expect(contents()).toEqual(kept);
  const connection = await openDatabase(dataDir);
  expect(await databaseFaults(connection)).toEqual([]);
  connection.close();
});

it('an upgrade reports its progress', async () => {
  layDown();
  const last = new Map<string, unknown>();
  const connection = await openDatabase(dataDir, { onUpgrade: (step) => last.set(step.table, step) });
  connection.close();
  expect([...last.values()]).toEqual([
    { table: 'usage_records', rows: chats + 5, rowsTotal: chats + 5 },
    { table: 'ledger_entries', rows: chats + 4, rowsTotal: chats + 4 },
  ]);
});
