import { randomUUID } from 'node:crypto';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BackupFacts, backUp } from '../../../src/store/maintenance/backup.ts';
import { restore } from '../../../src/store/maintenance/restore.ts';
import { openDatabase } from '../../../src/store/sqlite/database/open-database.ts';
import { DataInUseError } from '../../../src/store/sqlite/database/ownership.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { StoreError } from '../../../src/store/store-error.ts';
import { fileFaults, readBooks } from '../../support/books.ts';
import { parley, printed, printedJson, serve, until } from '../../support/command-line.ts';

let folder: string;
let dataDir: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-backup-'));
  dataDir = join(folder, 'data');
  file = join(folder, 'backups', 'parley.db');
  mkdirSync(join(folder, 'backups'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const nowMs = Date.UTC(2026, 10, 21);
const audit = { id: 'aud_1', createdAtMs: 1, actor: 'cli', action: 'a', target: 'b', details: {} };

/** These tests distinguish databases by their accounts. */
async function withAccount(name: string): Promise<void> {
  const store = await openStore(dataDir);
  const entry = { ...audit, id: `aud_${name}` } as Parameters<typeof store.accounts.create>[1];
  const account = { id: `acc_${name}`, name, createdAtMs: 1 } as Parameters<typeof store.accounts.create>[0];
  await store.accounts.create(account, entry);
  await store.close();
}

function accounts(path = join(dataDir, 'parley.db')): unknown[] {
  const database = new Sqlite(path, { readonly: true });
  const names = database.prepare('select name from accounts order by name').pluck().all();
  database.close();
  return names;
}

describe('a backup', () => {
  it('is one private file with the last commit, and leaves no other file', async () => {
    await withAccount('a');
    const facts = await backUp(dataDir, file);
    expect(facts).toMatchObject({ accounts: 1, newestRecordMs: undefined, bytes: statSync(file).size });
    expect(accounts(file)).toEqual(['a']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(join(folder, 'backups'))).toEqual(['parley.db']);
  });

  it('contains commits that are only in the log of an open database', async () => {
    await withAccount('a');
    const writer = await openDatabase(dataDir);
    writer.exec(
      "insert into accounts (id, name, created_at_ms, balance_nano_credits, held_nano_credits) values ('acc_b', 'b', 1, 0, 0)",
    );
    writer.exec('begin');
    writer.exec(
      "insert into accounts (id, name, created_at_ms, balance_nano_credits, held_nano_credits) values ('acc_c', 'c', 1, 0, 0)",
    );
    await backUp(dataDir, file);
    expect(accounts(file)).toEqual(['a', 'b']);
    writer.exec('commit');
    writer.close();
  });

  it('replaces a file only with --force, and only by a complete one', async () => {
    await withAccount('a');
    await backUp(dataDir, file);
    await expect(backUp(dataDir, file)).rejects.toThrow('--force');
    await withAccount('b');
    await backUp(dataDir, file, true);
    expect(accounts(file)).toEqual(['a', 'b']);
  });

  it('replaces the incomplete file of an earlier run', async () => {
    await withAccount('a');
    for (const end of ['', `-${randomUUID()}`, '-of-mine'])
      writeFileSync(`${file}.partial${end}`, 'half of a backup');
    await backUp(dataDir, file);
    expect(readdirSync(join(folder, 'backups'))).toEqual(['parley.db', 'parley.db.partial-of-mine']);
  });

  it('fails if another backup writes the same file at the same time', async () => {
    await withAccount('a');
    const both = await Promise.allSettled([backUp(dataDir, file), backUp(dataDir, file)]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    const [first] = both;
    expect(first).toMatchObject({ reason: expect.any(StoreError) });
    expect(accounts(file)).toEqual(['a']);
    expect(readdirSync(join(folder, 'backups'))).toEqual(['parley.db']);
  });

  it('refuses targets in the data folder, folders, and missing folders', async () => {
    await expect(backUp(dataDir, file)).rejects.toThrow('There is no database');
    await withAccount('a');
    await expect(backUp(dataDir, join(dataDir, 'parley.db'), true)).rejects.toThrow('another folder');
    await expect(backUp(dataDir, join(folder, 'none', 'x.db'))).rejects.toThrow('Create it first');
    await expect(backUp(dataDir, join(folder, 'backups'))).rejects.toThrow('is not a file');
    expect(accounts()).toEqual(['a']);
  });

  it.each([
    ['a balance that is not the sum of its entries', 'balance_nano_credits = 5'],
    ['a hold of no request', 'balance_nano_credits = 5, held_nano_credits = 5'],
  ])('fails if the books are wrong: %s', async (_, change) => {
    await withAccount('a');
    const database = await openDatabase(dataDir);
    database.exec(`update accounts set ${change}`);
    database.close();
    await expect(backUp(dataDir, file)).rejects.toThrow('The books are wrong');
    expect(readdirSync(join(folder, 'backups'))).toEqual([]);
  });

  it('fails if used units have no request', async () => {
    await withAccount('a');
    const database = await openDatabase(dataDir);
    database.exec("insert into limit_counts values ('acc_a', 'fair_use', '2026-11', 7)");
    await expect(backUp(dataDir, file)).rejects.toThrow('used units');
    const sums = '0, 0, 0, 0, 0, 0, 0, 7, 0';
    database.exec(
      `insert into usage_sums values ('2026-11-30', 'acc_a', 'key_a', 'speech', 'm', 'ok', 1, ${sums})`,
    );
    await backUp(dataDir, file);
    database.close();
  });
});

describe('a restore', () => {
  it('replaces the database by a backup, and keeps the replaced one', async () => {
    await withAccount('a');
    await backUp(dataDir, file);
    await withAccount('b');
    const { keptAs = '' } = await restore(dataDir, file, { keep: true, nowMs });
    expect(accounts()).toEqual(['a']);
    expect(keptAs).toBe(join(dataDir, 'parley.db.replaced-2026-11-21T00-00-00-000Z'));
    expect(accounts(keptAs)).toEqual(['a', 'b']);
    expect(readdirSync(dataDir).filter((name) => /incoming|wal|shm/.test(name))).toEqual([]);
    expect(readdirSync(dataDir).filter((name) => statSync(join(dataDir, name)).mode & 0o077)).toEqual([]);
  });

  it('creates a missing folder, and keeps nothing with --no-keep', async () => {
    await withAccount('a');
    await backUp(dataDir, file);
    rmSync(dataDir, { recursive: true });
    expect((await restore(dataDir, file, { keep: true, nowMs })).keptAs).toBeUndefined();
    expect((await restore(dataDir, file, { keep: false, nowMs })).keptAs).toBeUndefined();
    expect(accounts()).toEqual(['a']);
    expect(readdirSync(dataDir).sort()).toEqual(['parley.db']);
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  });

  it('ignores the log of a killed server', async () => {
    await withAccount('a');
    await backUp(dataDir, file);
    const writer = await openDatabase(dataDir);
    writer.exec(
      "insert into accounts (id, name, created_at_ms, balance_nano_credits, held_nano_credits) values ('acc_b', 'b', 1, 0, 0)",
    );
    // The state after a kill: the database with its log, not open anywhere.
    const left = ['parley.db', 'parley.db-wal'].map(
      (name) => [name, readFileSync(join(dataDir, name))] as const,
    );
    writer.close();
    for (const [name, bytes] of left) writeFileSync(join(dataDir, name), bytes);
    const { keptAs } = await restore(dataDir, file, { keep: true, nowMs });
    expect(accounts()).toEqual(['a']);
    expect(accounts(keptAs)).toEqual(['a', 'b']);
    expect(fileFaults(dataDir)).toEqual([]);
  });

  it('replaces a damaged database', async () => {
    await withAccount('a');
    await backUp(dataDir, file);
    writeFileSync(
      join(dataDir, 'parley.db'),
      'not a database at all, but long enough to be read as one'.repeat(100),
    );
    const { keptAs = '' } = await restore(dataDir, file, { keep: true, nowMs });
    expect(accounts()).toEqual(['a']);
    expect(readFileSync(keptAs, 'utf8')).toContain('not a database at all');
  });

  it('is refused while a server uses the folder', async () => {
    await withAccount('a');
    await backUp(dataDir, file);
    const owner = await openDatabase(dataDir);
    await expect(restore(dataDir, file, { keep: true, nowMs })).rejects.toThrow(DataInUseError);
    owner.close();
    expect(accounts()).toEqual(['a']);
  });

  it('is refused, and changes nothing, while another program reads the database', async () => {
    await withAccount('a');
    await backUp(dataDir, file);
    const reader = new Sqlite(join(dataDir, 'parley.db'), { readonly: true });
    reader.exec('begin');
    reader.exec('select * from accounts');
    await withAccount('b');
    await expect(restore(dataDir, file, { keep: false, nowMs })).rejects.toThrow(
      /is in use by another program, .* Wait until it ends, then try again\.$/,
    );
    reader.close();
    expect(accounts()).toEqual(['a', 'b']);
    await restore(dataDir, file, { keep: false, nowMs });
    expect(accounts()).toEqual(['a']);
  });

  it.each([
    ['there is no file', () => rmSync(file)],
    ['the file is no database', () => writeFileSync(file, 'a shopping list'.repeat(1_000))],
    ['the file is empty', () => writeFileSync(file, '')],
    ['the file was cut short', () => truncateSync(file, statSync(file).size / 2)],
    ['the file is damaged', () => scribble(file)],
    ['it is a database of another program', () => otherDatabase(file)],
    ['its books are false', () => inDatabase(file, 'update accounts set balance_nano_credits = 1')],
    [
      'it is of a newer schema',
      () => inDatabase(file, "insert into kysely_migration values ('9999-new', '')"),
    ],
  ])('changes nothing if %s', async (_, spoil) => {
    await withAccount('a');
    await backUp(dataDir, file);
    await withAccount('b');
    spoil();
    await expect(restore(dataDir, file, { keep: true, nowMs })).rejects.toThrow(
      /There is no file|cannot be|is not a database|newer/,
    );
    expect(readdirSync(dataDir).sort()).toEqual(['parley.db']);
    expect(accounts()).toEqual(['a', 'b']);
  });

  it('accepts a backup of the former schema; the next start upgrades it', async () => {
    const dump = readFileSync(new URL('../migrations/schemas/0023-labels.sql', import.meta.url), 'utf8');
    inDatabase(file, dump);
    const facts = await restore(dataDir, file, { keep: true, nowMs });
    expect(facts.schema).toBe('0023-labels');
    const store = await openStore(dataDir);
    expect(await store.requests.recover(nowMs)).toBe(2);
    await store.close();
    const newer = join(folder, 'backups', 'newer.db');
    expect((await backUp(dataDir, newer)).schema).not.toBe('0023-labels');
  });
});

describe('parley backup and parley restore', () => {
  it('work beside a running server, and restore its state', async () => {
    const options = { cwd: folder };
    const at = ['--data-dir', dataDir];
    const server = await serve(['--demo', ...at], options);
    const { apiKey, adminKey } = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8'));
    // This request runs during the backup, which contains its reservation.
    const long = await fetch(`${server.baseUrl}/audio/speech`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({
        model: 'flite',
        input: 'One long sentence after the other. '.repeat(100),
        response_format: 'wav',
      }),
    });
    await until(() => readBooks(dataDir).records.some(({ state }) => state === 'started'));
    const facts = await printedJson<BackupFacts>(['backup', file, ...at], options);
    expect(facts).toMatchObject({ file, accounts: 1, schema: expect.stringMatching(/^\d{4}-/) });
    const again = await parley(['backup', file, ...at], options);
    expect([again.code, again.stdout, again.stderr]).toEqual([1, '', expect.stringContaining('--force')]);
    const beside = await parley(['restore', file, ...at], options);
    expect([beside.code, beside.stderr]).toEqual([1, expect.stringContaining('Stop it first')]);
    await long.body?.cancel();
    await printed(['account', 'create', 'later', ...at, '--admin-key', adminKey], options);
    await server.close();

    expect(await printed(['restore', file, ...at], options)).toMatch(
      /now has the database of .*: .* 1 account,/,
    );
    const restored = await serve(at, options);
    expect(restored.stderr()).toContain('released requests left open by an earlier run');
    expect(await printed(['account', 'list', ...at], options)).not.toContain('later');
    const { records, accounts: all } = readBooks(dataDir);
    expect(records.filter(({ state }) => state === 'interrupted')).toHaveLength(1);
    expect(records.filter(({ state }) => state === 'started')).toEqual([]);
    expect(all.map(({ held }) => held)).toEqual([0n]);
    expect(readBooks(dataDir).faults).toEqual([]);
    await restored.close();
  });

  it('report a wrong file in one line', async () => {
    await withAccount('a');
    const missing = await parley(['restore', join(folder, 'none.db'), '--data-dir', dataDir]);
    expect([missing.code, missing.stderr]).toEqual([1, expect.stringMatching(/^There is no file .*\n$/)]);
    const { stderr } = await parley(['backup', file, '--data-dir', dataDir]);
    // A copy that takes longer has its rate as well.
    expect(stderr.replace(/: [\d.]+ kB of [^\n]*/, '')).toBe(
      `copying to ${file}\nverifying its pages\nverifying its references\nverifying its books\n`,
    );
    const nowhere = await parley(['backup', '/proc/none.db', '--data-dir', dataDir]);
    expect([nowhere.code, nowhere.stderr]).toEqual([
      1,
      expect.stringMatching(/^The backup .* cannot be written .*\n$/),
    ]);
  });
});

function inDatabase(path: string, sql: string): void {
  const database = new Sqlite(path);
  database.exec(sql);
  database.close();
}

function otherDatabase(path: string): void {
  rmSync(path);
  inDatabase(path, 'create table recipes (name text)');
}

/** Overwrites pages in the middle of a file. */
function scribble(path: string): void {
  const to = openSync(path, 'r+');
  for (let page = 2; page < 20; page++) writeSync(to, Buffer.alloc(2_000, 'x'), 0, 2_000, page * 4_096);
  closeSync(to);
}
