/** Sessions of the console on several servers of one database, and their configuration files. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type App, createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { errorOf } from '../../support/parley.ts';
import { newStoreFolder, type StoreFolder } from '../../support/store-folder.ts';

const adminKey = `pa_${'0'.repeat(32)}`;

let folder: StoreFolder;
let servers: App[];
beforeEach(async () => {
  folder = await newStoreFolder();
  const open = () => {
    const settings = { server: { port: 0 }, log: { level: 'silent' } };
    const env = { PARLEY_ADMIN_KEY: adminKey };
    const options = { env, overrides: { ...settings, ...folder.settings } };
    const source = {
      path: join(folder.path, 'parley.yaml'),
      read: (text?: string) => loadConfig({ ...options, text }),
      apply: async () => undefined,
      refusal: undefined,
      recogniser: () => 'pocketsphinx',
    };
    return createApp(loadConfig(options), { source });
  };
  servers = await Promise.all([open(), open()]);
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await folder.remove();
});

it('end on all of them when the holder signs out on one, also sessions of a key from the environment', async () => {
  const [one, other] = servers.map(({ baseUrl }) => new URL(baseUrl).origin) as [string, string];
  const own = (origin: string) => ({ origin, 'sec-fetch-site': 'same-origin' });
  const signedIn = await fetch(`${one}/console/session`, {
    method: 'POST',
    headers: { ...own(one), authorization: `Bearer ${adminKey}` },
  });
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const statuses = () =>
    Promise.all(
      [one, other].map(async (origin) => {
        const headers = { ...own(origin), cookie };
        return (await fetch(`${origin}/api/v1/admin/accounts`, { headers })).status;
      }),
    );
  expect(await statuses()).toEqual([200, 200]);
  const headers = { ...own(other), cookie };
  expect((await fetch(`${other}/console/session/end`, { method: 'POST', headers })).status).toBe(200);
  expect(await statuses()).toEqual([401, 401]);
});

it('show what a change of one file would be, and make none', async () => {
  const url = `${servers[0]?.baseUrl}/admin/configuration`;
  const headers = { authorization: `Bearer ${adminKey}` };
  const read = async () =>
    (await (await fetch(url, { headers })).json()) as { version: string; problem: string };
  const { version, problem } = await read();
  expect(problem).toContain('on each machine');
  const edits = [{ section: 'models', name: 'eliza', yaml: '' }];
  const change = (more: object) =>
    fetch(url, { method: 'POST', headers, body: JSON.stringify({ version, edits, ...more }) });
  expect(await (await change({ validate_only: true })).json()).toMatchObject({ diff: expect.anything() });
  expect(await errorOf(await change({}))).toMatchObject({ status: 400, message: problem });
  expect((await read()).version).toBe(version);
});
