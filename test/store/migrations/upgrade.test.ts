/** Opens databases that were written by the code of each schema (see schemas/). */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { databaseFaults } from '../../../src/store/maintenance/books.ts';
import { migrations } from '../../../src/store/migrations/migrations.ts';
import { openDatabase } from '../../../src/store/sqlite/database/open-database.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { parley } from '../../support/command-line.ts';
import { fairUse } from '../../support/reservations.ts';
import { auditEntry } from '../../support/stored-key.ts';

const schemas = new URL('./schemas/', import.meta.url);
const former = '0023-labels';
/** The initial schema is that of the former one. */
const names = [former, ...Object.keys(migrations).slice(1)];

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-upgrade-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

type Rows = readonly Readonly<Record<string, unknown>>[];

/** Creates the database of a schema in the data folder. */
function layDown(schema: string): void {
  mkdirSync(dataDir, { recursive: true });
  const database = new Sqlite(join(dataDir, 'parley.db'));
  database.exec(readFileSync(new URL(`${schema}.sql`, schemas), 'utf8'));
  database.close();
  chmodSync(join(dataDir, 'parley.db'), 0o600);
}

/** Tables behind the views of usage records and ledger entries. */
const behindViews = ['usage_rows', 'ledger_rows', 'words'];

/** Every row of every table and view, except those of migrations. */
function contents(): Record<string, Rows> {
  const database = new Sqlite(join(dataDir, 'parley.db'), { readonly: true });
  const tables = database
    .prepare<[], string>(
      "select name from sqlite_schema where type in ('table', 'view') and name not like 'kysely%' order by name",
    )
    .pluck()
    .all()
    .filter((name) => !behindViews.includes(name));
  const rows = tables.map((table) => {
    const all = database.prepare<[], Rows[number]>(`select * from ${table}`).safeIntegers().all();
    return [table, all.toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))] as const;
  });
  database.close();
  return Object.fromEntries(rows);
}

function keyOf(row: Rows[number]): string {
  return JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? String(value) : value));
}

/** Columns that were added later have quotes. */
function definitions(): unknown {
  const database = new Sqlite(join(dataDir, 'parley.db'), { readonly: true });
  const all = database
    .prepare<[], { readonly name: string; readonly sql: string | null }>(
      "select name, sql from sqlite_schema where name not like 'sqlite_autoindex%' order by name",
    )
    .all();
  database.close();
  return all.map(({ name, sql }) => [
    name,
    sql
      ?.replaceAll('"', '')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/ ?([(),]) ?/g, '$1'),
  ]);
}

describe('an upgrade', () => {
  it('is tested from every schema since the last of the preview', () => {
    const stored = readdirSync(schemas).filter((file) => file.endsWith('.sql'));
    expect(stored.sort()).toEqual(names.map((name) => `${name}.sql`));
  });

  describe.each(names)('from %s', (name) => {
    it('keeps every row of every table', async () => {
      layDown(name);
      const before = contents();
      expect(Object.entries(before).filter(([, rows]) => rows.length === 0)).toEqual([]);
      (await openDatabase(dataDir)).close();
      const after = contents();
      expect(after).toMatchObject(before);
    });

    it('creates the same tables, indexes and triggers as a new database', async () => {
      (await openDatabase(dataDir)).close();
      const fresh = definitions();
      for (const file of readdirSync(dataDir)) rmSync(join(dataDir, file));
      layDown(name);
      (await openDatabase(dataDir)).close();
      expect(definitions()).toEqual(fresh);
    });

    it('releases open requests, and keeps the books exact', async () => {
      layDown(name);
      const store = await openStore(dataDir);
      expect(await store.requests.recover(Date.UTC(2026, 10, 2))).toBe(2);
      const account = await store.accounts.find('acme ü');
      // The balance was loaded, adjusted, and debited twice.
      expect([account?.balance, account?.held]).toEqual([10_000_000_001n - 1_000_000_000n - 64_000n, 0n]);
      expect((await store.keys.find('hash of app'))?.account?.id).toBe(account?.id);
      if (account === undefined) throw new Error('there is no account');
      expect(await store.requests.taken([fairUse(account.id, 0, 0)])).toEqual([12n]);
      const query = { accountId: undefined, fromMs: undefined, untilMs: undefined, totalsMax: 100 };
      const totals = await store.usage.totals({ ...query, groupBy: [] });
      expect(totals).toMatchObject([{ requests: 9n, cost: 64_000n, fairUseUnits: 12n, characters: 24n }]);
      const cut = { recordsBeforeMs: Date.UTC(2026, 10, 2), answersBeforeMs: 0 };
      expect(await store.usage.prune(cut, 1_000, auditEntry())).toMatchObject({ isComplete: true });
      expect(await store.usage.totals({ ...query, groupBy: [] })).toEqual(totals);
      await store.close();
      const database = new Sqlite(join(dataDir, 'parley.db'), { readonly: true });
      expect(await databaseFaults(database)).toEqual([]);
      database.close();
    });

    it('starts the server', async () => {
      layDown(name);
      const overrides = { server: { port: 0 }, dataDir, log: { level: 'silent' } };
      const app = await createApp(loadConfig({ env: {}, overrides }));
      expect((await app.store.accounts.find('acme ü'))?.held).toBe(0n);
      await app.close();
    });
  });

  it('that fails changes nothing', async () => {
    const database = new Sqlite(join(dataDir, 'parley.db'));
    database.exec("create table alerts (in_the_way text); insert into alerts values ('a')");
    database.close();
    const [before, tables] = [contents(), definitions()];
    await expect(openDatabase(dataDir)).rejects.toThrow('already exists');
    expect(contents()).toEqual(before);
    expect(definitions()).toEqual(tables);
  });
});

it('refuses a database of an earlier schema with advice, and leaves it as it is', async () => {
  layDown(former);
  const path = join(dataDir, 'parley.db');
  const database = new Sqlite(path);
  database.prepare('delete from kysely_migration where name = ?').run(former);
  database.close();
  const bytes = readFileSync(path);
  await expect(openDatabase(dataDir)).rejects.toThrow(
    /^The database .*parley\.db is of an early preview \(0022-secrets\)\. Start Parley of the git revision \w{8} on it once, then this version\.$/,
  );
  expect(readFileSync(path).equals(bytes)).toBe(true);
  const { code, stderr } = await parley(['account', 'list', '--data-dir', dataDir], { cwd: dataDir });
  expect([code, stderr.trim().split('\n').length]).toEqual([1, 1]);
  expect(stderr).toContain('is of an early preview');
});

describe('a database of a newer schema', () => {
  const fromTheFuture = () => {
    layDown(names.at(-1) ?? '');
    const database = new Sqlite(join(dataDir, 'parley.db'));
    database.exec("insert into kysely_migration values ('9999-the-future', '2030-01-01T00:00:00Z')");
    database.close();
  };

  it('is refused and stays unchanged', async () => {
    fromTheFuture();
    const path = join(dataDir, 'parley.db');
    const [bytes, changedMs] = [readFileSync(path), statSync(path).mtimeMs];
    await expect(openDatabase(dataDir)).rejects.toThrow('A newer Parley has changed the database');
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(statSync(path).mtimeMs).toBe(changedMs);
  });

  it.each([
    ['serve', '--port', '0'],
    ['account', 'list'],
  ])('ends `parley %s` with advice', async (...args) => {
    fromTheFuture();
    const { code, stderr } = await parley([...args, '--data-dir', dataDir], { cwd: dataDir });
    expect(code).toBe(1);
    expect(stderr).toMatch(/A newer Parley has changed the database .*9999-the-future.*\. Run that version/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });
});
