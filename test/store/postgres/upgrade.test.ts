/** Opens a database that was written by the code of the former schema (see ../migrations/schemas/postgres). */
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bookFaults } from '../../../src/store/maintenance/books.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { fairUse } from '../../support/reservations.ts';
import { auditEntry } from '../../support/stored-key.ts';

const former = readFileSync(
  new URL('../migrations/schemas/postgres/0023-labels.sql', import.meta.url),
  'utf8',
);

let database: TestDatabase;
beforeEach(async () => {
  database = await newDatabase();
});
afterEach(() => database.drop());

async function layDown(): Promise<void> {
  await database.query('drop schema public cascade');
  await database.query('create schema public');
  await database.query(former);
}

/** Columns, indexes, constraints, triggers and functions, without the names of partitions. */
async function definitions(): Promise<unknown> {
  const parts = [
    `select table_name, column_name, data_type, column_default, is_nullable, collation_name from information_schema.columns
      where table_schema = 'public' and table_name !~ '^usage_records_' order by 1, 2`,
    `select indexdef from pg_indexes where schemaname = 'public' and tablename !~ '^usage_records_' order by 1`,
    `select conrelid::regclass::text as name, pg_get_constraintdef(oid) as text from pg_constraint
      where connamespace = 'public'::regnamespace and conrelid::regclass::text !~ '^usage_records_' order by 1, 2`,
    `select pg_get_triggerdef(oid) as text from pg_trigger where not tgisinternal order by 1`,
    `select proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace order by 1`,
    'select * from needed_migrations',
    'select name from kysely_migration',
  ];
  const found: unknown[] = [];
  for (const part of parts) found.push(await database.query(part));
  return found;
}

it('creates the same tables, indexes, triggers and functions as a new database', async () => {
  const fresh = await definitions();
  await layDown();
  await (await openPostgresStore({ url: database.url })).close();
  expect(await definitions()).toEqual(fresh);
});

it('releases open requests, keeps the books exact, and has the sums of all requests', async () => {
  await layDown();
  const store = await openPostgresStore({ url: database.url });
  expect(await store.requests.recover(Date.UTC(2026, 10, 2))).toBe(2);
  const account = await store.accounts.find('acme ü');
  if (account === undefined) throw new Error('there is no account');
  expect([account.balance, account.held]).toEqual([10_000_000_001n - 1_000_000_000n - 64_000n, 0n]);
  expect(await store.requests.taken([fairUse(account.id, 0, 0)])).toEqual([12n]);
  const query = { accountId: undefined, fromMs: undefined, untilMs: undefined, totalsMax: 100 };
  const totals = await store.usage.totals({ ...query, groupBy: [] });
  expect(totals).toMatchObject([{ requests: 9n, cost: 64_000n, fairUseUnits: 12n, characters: 24n }]);
  const cut = { recordsBeforeMs: Date.UTC(2026, 10, 2), answersBeforeMs: 0 };
  expect(await store.usage.prune(cut, 1_000, auditEntry())).toMatchObject({ isComplete: true });
  expect(await store.usage.totals({ ...query, groupBy: [] })).toEqual(totals);
  await store.close();
  const find = async (sql: string) => (await database.query<{ id: string }>(sql))[0]?.id;
  expect(await bookFaults('postgres', find)).toEqual([]);
});

it('refuses a database of an earlier schema', async () => {
  await layDown();
  await database.query("delete from kysely_migration where name = '0023-labels'");
  await expect(openPostgresStore({ url: database.url })).rejects.toThrow(
    'of an early preview (0022-secrets)',
  );
});
