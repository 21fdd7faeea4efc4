/** The lock on a database: it is in the database file itself, and ends with its process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { diagnoseStore } from '../../../src/store/maintenance/diagnostics.ts';
import { openDatabase } from '../../../src/store/sqlite/database/open-database.ts';
import { DataInUseError } from '../../../src/store/sqlite/database/ownership.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { printed, serve } from '../../support/command-line.ts';

let folder: string;
let dataDir: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-owner-'));
  dataDir = join(folder, 'data');
});
afterEach(async () => {
  for (const child of children.splice(0)) await end(child);
  rmSync(folder, { recursive: true });
});

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

/** Another process that runs a script with the database and then waits. */
async function process(script: string): Promise<ChildProcess> {
  const source = new URL('../../../src/store/sqlite/database/open-database.ts', import.meta.url);
  const text = `
    import Sqlite from 'better-sqlite3';
    import { openDatabase } from ${JSON.stringify(source.href)};
    const dataDir = ${JSON.stringify(dataDir)};
    ${script}
    console.log('ready');
    setInterval(() => undefined, 1_000_000);`;
  const args = ['--input-type=module', '--eval', text];
  const child = spawn(globalThis.process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  const first = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  expect(String(first[0])).toBe('ready\n');
  return child;
}

const owner = () => process('globalThis.owned = await openDatabase(dataDir);');
const reader = () =>
  process(`
    globalThis.reading = new Sqlite(dataDir + '/parley.db', { readonly: true });
    globalThis.reading.exec('begin');
    globalThis.reading.prepare('select * from accounts').all();`);

/** Owns the database for a moment. */
async function canOwn(): Promise<boolean> {
  try {
    await (await openStore(dataDir)).close();
    return true;
  } catch (error) {
    if (error instanceof DataInUseError) return false;
    throw error;
  }
}

describe('the owner of a database', () => {
  it('is one process at a time, as locked in the database itself', async () => {
    const other = await owner();
    for (const name of readdirSync(dataDir)) {
      if (!name.startsWith('parley.db')) rmSync(join(dataDir, name));
    }
    expect(readdirSync(dataDir).filter((name) => !name.startsWith('parley.db'))).toEqual([]);
    expect(await canOwn()).toBe(false);
    await end(other);
    expect(await canOwn()).toBe(true);
  });

  it('is one connection at a time in one process, too', async () => {
    const first = await openDatabase(dataDir);
    expect(await canOwn()).toBe(false);
    first.close();
    expect(await canOwn()).toBe(true);
  });

  it('may start while other programs read, but not beside another owner', async () => {
    expect(await canOwn()).toBe(true);
    const reading = await reader();
    expect(await canOwn()).toBe(true);
    const other = await owner();
    expect(await canOwn()).toBe(false);
    await end(reading);
    expect(await canOwn()).toBe(false);
    await end(other);
    expect(await canOwn()).toBe(true);
  });

  it('waits for readers only if it follows an owner that was killed', async () => {
    const killed = await owner();
    const reading = await reader();
    await end(killed);
    expect(await canOwn()).toBe(false);
    const waiting = openDatabase(dataDir, { waitMs: 60_000 });
    await end(reading);
    (await waiting).close();
  });

  it('lets others read, and write for a moment', async () => {
    await owner();
    const diagnostics = await diagnoseStore(dataDir, {
      signal: AbortSignal.timeout(60_000),
      checksPages: true,
    });
    expect(diagnostics.filter(({ state }) => state === 'problem')).toEqual([]);
    const other = new Sqlite(join(dataDir, 'parley.db'), { timeout: 5_000 });
    other.exec(
      "insert into accounts (id, name, created_at_ms, balance_nano_credits, held_nano_credits) values ('acc_b', 'b', 1, 0, 0)",
    );
    other.close();
    const guest = await openStore(dataDir, { as: 'guest' });
    expect((await guest.accounts.find('b'))?.id).toBe('acc_b');
    await guest.close();
    expect(await canOwn()).toBe(false);
  });

  it('is the server, even if other files of the folder are removed', async () => {
    const server = await serve(['--data-dir', dataDir], { cwd: folder });
    for (const name of readdirSync(dataDir)) {
      if (/\.db$/.test(name) && name !== 'parley.db') rmSync(join(dataDir, name));
    }
    await expect(serve(['--data-dir', dataDir], { cwd: folder })).rejects.toThrow(
      'Another Parley is running on the data folder',
    );
    await printed(['backup', join(folder, 'backup.db'), '--data-dir', dataDir], { cwd: folder });
    expect(await printed(['health', '--ready', '--data-dir', dataDir], { cwd: folder })).toBe('ready\n');
    await server.close();
  });
});
