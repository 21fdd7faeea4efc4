/** Sessions of the console on several servers of one database. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type App, createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { newStoreFolder, type StoreFolder } from '../../support/store-folder.ts';

const adminKey = `pa_${'0'.repeat(32)}`;

let folder: StoreFolder;
let servers: App[];
beforeEach(async () => {
  folder = await newStoreFolder();
  const open = () => {
    const settings = { server: { port: 0 }, log: { level: 'silent' } };
    const env = { PARLEY_ADMIN_KEY: adminKey };
    return createApp(loadConfig({ env, overrides: { ...settings, ...folder.settings } }));
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
