/** `serve --workers`: several processes on one port and one database. */
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { newClient } from '../../../src/store/postgres/database/connection.ts';
import { parley, printed, scratchFolder, serve } from '../../support/command-line.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';

let database: TestDatabase;
let folder: ReturnType<typeof scratchFolder>;
beforeEach(async () => {
  database = await newDatabase();
  folder = scratchFolder();
});
afterEach(async () => {
  await database.drop();
  folder.remove();
});

/** The processes that serve. */
async function nodes(): Promise<number[]> {
  const rows = await database.query<{ name: string }>('select name from nodes where not dead order by epoch');
  return rows.map(({ name }) => Number(name.split(':')[1]));
}

it('workers share the port, and one that is killed is replaced', async () => {
  const env = { PARLEY_STORE_KIND: 'postgres', PARLEY_STORE_URL: database.url };
  const options = { cwd: folder.path, env };
  await printed(['account', 'create', 'ada'], options);
  const key = (await printed(['key', 'create', '--account', 'ada'], options)).trim();
  const server = await serve(['--workers', '2'], options);
  const ask = async () => {
    const headers = { authorization: `Bearer ${key}`, connection: 'close' };
    const response = await fetch(`${server.baseUrl}/models`, { headers });
    await response.arrayBuffer();
    return response.status;
  };
  await expect.poll(() => existsSync(folder.file('data/server.json'))).toBe(true);
  const [first = 0, second = 0] = await nodes();
  expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual([200, 200, 200, 200]);
  process.kill(first, 'SIGKILL');
  await expect.poll(nodes).toEqual([second, expect.any(Number)]);
  expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual([200, 200, 200, 200]);
  await server.close();
  expect(await server.ended).toEqual({ code: 0, signal: null });
  expect(await nodes()).toEqual([]);
  expect(existsSync(folder.file('data/server.json'))).toBe(false);
});

it('stops while a worker still opens', async () => {
  const env = { PARLEY_STORE_KIND: 'postgres', PARLEY_STORE_URL: database.url };
  const server = await serve(['--workers', '2'], { cwd: folder.path, env });
  await expect.poll(() => existsSync(folder.file('data/server.json'))).toBe(true);
  const holder = newClient({ url: database.url, name: 'holder' });
  await holder.connect();
  // Only a process that opens the database reads this table.
  await holder.query('begin; lock table kysely_migration in access exclusive mode');
  const [first = 0, second = 0] = await nodes();
  process.kill(first, 'SIGKILL');
  const waiting =
    "select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(() => database.query(waiting)).toHaveLength(1);
  server.kill('SIGTERM');
  await expect.poll(nodes).not.toContain(second);
  await holder.end();
  expect(await server.ended).toEqual({ code: 0, signal: null });
});

it('ends if a worker cannot open the database', async () => {
  await database.query("insert into needed_migrations (name) values ('9999-later')");
  const env = { PARLEY_STORE_KIND: 'postgres', PARLEY_STORE_URL: database.url };
  const { code, stderr } = await parley(['serve', '--workers', '2', '--port', '0'], {
    cwd: folder.path,
    env,
  });
  expect([code, stderr]).toEqual([1, expect.stringContaining('9999-later')]);
});

it('SQLite has one process', async () => {
  const { code, stderr } = await parley(['serve', '--workers', '2', '--data-dir', folder.path]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('store.kind: postgres')]);
});
