/** Copies from SQLite to PostgreSQL and back, by the command line and as functions. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyConfiguredStore, type StoreKind } from '../../../src/app/store-tools.ts';
import { type Config, loadConfig } from '../../../src/config/config.ts';
import { firstRequestId } from '../../../src/core/values/ids.ts';
import type { CopyOptions, CopyProgress } from '../../../src/store/copy/copy-store.ts';
import { openPostgresStore } from '../../../src/store/postgres/open-store.ts';
import { DataInUseError } from '../../../src/store/sqlite/database/ownership.ts';
import { migrateFolder, openStore } from '../../../src/store/sqlite/open-store.ts';
import { parley } from '../../support/command-line.ts';
import { readPostgresBooks } from '../../support/postgres/books.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';

const schemas = new URL('../migrations/schemas/', import.meta.url);
const files = readdirSync(schemas).filter((name) => name.endsWith('.sql'));
const newest = files.at(-1) ?? '';

let folder: string;
let source: string;
let database: TestDatabase;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-copy-'));
  source = join(folder, 'source');
  database = await newDatabase();
});
afterEach(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Creates a database with every kind of row, written by the code of a schema. */
async function layDown(file: string): Promise<void> {
  mkdirSync(source);
  withSqlite(source, (sqlite) => sqlite.exec(readFileSync(new URL(file, schemas), 'utf8')));
  await migrateFolder(source);
}

function withSqlite<T>(dataDir: string, use: (sqlite: Sqlite.Database) => T): T {
  const sqlite = new Sqlite(join(dataDir, 'parley.db'));
  try {
    return use(sqlite);
  } finally {
    sqlite.close();
  }
}

/** Every row of every table, except tables that only SQLite has. */
function contents(dataDir: string): unknown {
  return withSqlite(dataDir, (sqlite) => {
    const names = sqlite
      .prepare<[], string>(
        `select name from sqlite_schema where type in ('table', 'view') and name not like 'kysely%'
          and name not in ('policy', 'secrets', 'usage_rows', 'ledger_rows', 'words')`,
      )
      .pluck()
      .all();
    const rows = (name: string) => sqlite.prepare(`select * from ${name}`).safeIntegers().raw().all();
    return Object.fromEntries(names.map((name) => [name, rows(name)]));
  });
}

function configOf(dataDir: string): Config {
  return loadConfig({ env: {}, overrides: { dataDir, store: { kind: 'postgres', url: database.url } } });
}

const quiet: CopyOptions = { onProgress: () => undefined, signal: new AbortController().signal };
const copy = (to: StoreKind, dataDir = source, options = quiet) =>
  copyConfiguredStore(configOf(dataDir), to, options);

async function rowsInPostgres(table: string): Promise<number> {
  const [row] = await database.query<{ count: bigint }>(`select count(*) from ${table}`);
  return Number(row?.count);
}

describe('a copy', () => {
  it.each(files)('to PostgreSQL and back is exact (%s)', async (file) => {
    await layDown(file);
    const before = contents(source);
    const there = await copy('postgres');
    const back = await copy('sqlite', join(folder, 'back'));
    expect(contents(source)).toEqual(before);
    expect(contents(join(folder, 'back'))).toEqual(before);
    expect(back.tables.toSorted(byName)).toEqual(there.tables.toSorted(byName));
    expect((await readPostgresBooks(database)).accounts).toHaveLength(2);
  });

  it('continues with the open requests and claims of a killed server', async () => {
    await layDown(newest);
    await copy('postgres');
    const store = await openPostgresStore({ url: database.url });
    expect(await store.requests.recover(Date.UTC(2026, 11))).toBe(2);
    await store.close();
    const { accounts, units } = await readPostgresBooks(database);
    expect([accounts[0]?.held, units[0]?.reserved]).toEqual([0n, 0]);
    expect(await database.query('select key from kept_answers')).toEqual([{ key: 'first' }]);
    expect(await rowsInPostgres('nodes')).toBe(0);
  });

  it('moves the records of earlier months into their own partitions', async () => {
    await layDown(newest);
    const startedAtMs = Date.now() - 100 * 86_400_000;
    const id = firstRequestId(startedAtMs).padEnd(36, '0');
    withSqlite(source, (sqlite) => {
      const refused = "(select id_bytes from usage_records where state = 'refused')";
      const update = `update usage_rows set id = unhex(?), started_at_ms = ? where id in ${refused}`;
      sqlite.prepare(update).run(id.slice(4), startedAtMs);
    });
    await copy('postgres');
    const month = new Date(startedAtMs).toISOString().slice(0, 7).replace('-', '_');
    expect(await rowsInPostgres(`usage_records_${month}`)).toBe(1);
    expect(await rowsInPostgres('usage_records_rest')).toBe(0);
  });

  it('keeps texts except zero bytes, which PostgreSQL does not have', async () => {
    await layDown(newest);
    withSqlite(source, (sqlite) => sqlite.prepare('update usage_rows set model = ?').run('a\0b'));
    await copy('postgres');
    expect(await database.query('select distinct model from usage_records')).toEqual([
      { model: 'a\u{fffd}b' },
    ]);
  });
});

describe('a copy is refused', () => {
  it('if the target is not empty', async () => {
    await layDown(newest);
    await copy('postgres');
    await expect(copy('postgres')).rejects.toThrow(
      /^parley_\w+ \(PostgreSQL\) is not empty: \w+ has rows\. Choose an empty database\.$/,
    );
    await expect(copy('sqlite')).rejects.toThrow(/source\/parley\.db is not empty/);
  });

  it('if there is nothing to copy', async () => {
    await expect(copy('postgres')).rejects.toThrow(/^There is no database .*source\/parley\.db\.$/);
  });

  it('while a server uses one of them', async () => {
    await layDown(newest);
    const sqlite = await openStore(source);
    await expect(copy('postgres')).rejects.toThrow(DataInUseError);
    await sqlite.close();
    const postgres = await openPostgresStore({ url: database.url });
    await postgres.isEmpty();
    await expect(copy('postgres')).rejects.toThrow(
      /is in use by a server or another command of Parley\. Stop all servers before it/,
    );
    await postgres.close();
    await copy('postgres');
  });

  it('if the books of the source are wrong', async () => {
    await layDown(newest);
    withSqlite(source, (sqlite) =>
      sqlite.exec(`update limit_counts set used = used + 1 where unit = 'fair_use'`),
    );
    await expect(copy('postgres')).rejects.toThrow(
      /cannot be copied\. The books are wrong: the used units are not those of the ended requests \(account acc_/,
    );
    withSqlite(source, (sqlite) =>
      sqlite.exec(`update limit_counts set used = used - 1 where unit = 'fair_use'`),
    );
    await copy('postgres');
    await database.query(`update limit_counts set used = used + 1 where unit = 'fair_use'`);
    await expect(copy('sqlite', join(folder, 'back'))).rejects.toThrow(/\(account acc_01a196fb160[0-9a-f]+/);
  });
});

describe('a copy that fails', () => {
  it.each(['copy', 'verify'] as const)('leaves nothing when it is ended (%s)', async (step) => {
    await layDown(newest);
    const abort = new AbortController();
    const onProgress = (progress: CopyProgress) => {
      if (progress.step === step && progress.table === 'usage_records') abort.abort(new Error('ended'));
    };
    const options = { onProgress, signal: abort.signal };
    await expect(copy('postgres', source, options)).rejects.toThrow('ended');
    expect(await rowsInPostgres('accounts')).toBe(0);
    await copy('postgres');
    const again = new AbortController();
    const back = { onProgress: () => again.abort(new Error('ended')), signal: again.signal };
    await expect(copy('sqlite', join(folder, 'back'), back)).rejects.toThrow('ended');
    await copy('sqlite', join(folder, 'back'));
  });

  it('leaves nothing if the target differs from the written rows', async () => {
    await layDown(newest);
    await database.query(`create function alter_row() returns trigger language plpgsql as
      $$ begin new.details := '{}'; return new; end $$`);
    await database.query(
      'create trigger alter_rows before insert on audit_entries for each row execute function alter_row()',
    );
    await expect(copy('postgres')).rejects.toThrow(
      'The copy of the table audit_entries is not exact: the values of the rows differ. Nothing was kept.',
    );
    expect(await rowsInPostgres('audit_entries')).toBe(0);
  });

  it('names an id that PostgreSQL cannot keep', async () => {
    await layDown(newest);
    withSqlite(source, (sqlite) =>
      sqlite.exec("update audit_entries set id = 'aud_1' where action = 'key.revoke'"),
    );
    await expect(copy('postgres')).rejects.toThrow(
      'audit_entries.id has the value aud_1, which is not an id.',
    );
  });
});

describe('parley store copy', () => {
  const command = (to: StoreKind, ...flags: string[]) =>
    parley(['store', 'copy', '--to', to, '--data-dir', source, ...flags], {
      cwd: folder,
      env: { PARLEY_STORE_KIND: 'postgres', PARLEY_STORE_URL: database.url },
    });

  it('shows progress on standard error, and the copied rows', async () => {
    await layDown(newest);
    const { code, stdout, stderr } = await command('postgres');
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^TABLE +ROWS +SHA-256\n/)]);
    expect(stdout).toMatch(/^usage_records +5 {2}[0-9a-f]{64}$/m);
    expect(stderr).toContain('copying usage_records: 5 of 5 rows\n');
    expect(stderr).toContain('verifying usage_records: 5 of 5 rows\n');
    expect(stderr).toMatch(/\. Rows and hashes are equal, and the accounts balance\.\n$/);
  });

  it('prints one JSON document', async () => {
    await layDown(newest);
    const { stdout } = await command('postgres', '--json');
    const { tables, ...names } = JSON.parse(stdout);
    expect(names).toEqual({
      from: join(source, 'parley.db'),
      to: expect.stringMatching(/^parley_\w+ \(PostgreSQL\)$/),
    });
    const counts = tables.find(({ table }: { table: string }) => table === 'limit_counts');
    expect(counts).toEqual({
      table: 'limit_counts',
      rows: 2,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('asks for the PostgreSQL database if none is configured', async () => {
    const { code, stderr } = await parley(['store', 'copy', '--to', 'sqlite'], { cwd: folder });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^Name the PostgreSQL database in `store`, or in/),
    ]);
  });
});

function byName(one: { readonly table: string }, other: { readonly table: string }): number {
  return one.table < other.table ? -1 : 1;
}
