/** The scripts of the console: what the first load of each page takes on the wire, and another version of them. */
import { expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { launchBrowser, missingBrowser, openSignedIn, settled } from '../support/console-browser.ts';
import { startParley } from '../support/parley.ts';

const bytesMax = 120 * 1024;
const holder = ['', '/usage', '/keys', '/credits', '/alerts', '/models', '/playground'];
const operator = ['', '/accounts', '/accounts/account-1', '/usage', '/models', '/server', '/keys', '/audit'];

it.skipIf(missingBrowser !== undefined)('is at most 120 KB for each page', async () => {
  const browser = await launchBrowser();
  const parley = await startParley({ pages: new Map(Object.entries(await consoleFiles())) });
  const chat = { model: 'eliza', messages: [{ role: 'user', content: 'I am here.' }] };
  await (await parley.postJson('/chat/completions', chat)).text();
  const weights = new Map<string, number>();
  for (const [key, paths] of [
    [parley.apiKey, holder],
    [parley.adminKey, operator],
  ] as const) {
    for (const path of paths) {
      const { page } = await openSignedIn(browser, parley, key, `/console${path}`);
      if (/^(\/usage)?$/.test(path)) await page.locator('.plot canvas, .bars').first().waitFor();
      await settled(page);
      const bytes = await page.evaluate<number>(
        `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/console/'))
          .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
      );
      weights.set(`${key === parley.apiKey ? 'holder' : 'operator'} ${path}`, bytes);
      await page.context().close();
    }
  }
  await Promise.all([browser.close(), parley.close()]);
  expect([...weights].filter(([, bytes]) => bytes > bytesMax)).toEqual([]);
  expect(Math.min(...weights.values())).toBeGreaterThan(50 * 1024);
});

it.skipIf(missingBrowser !== undefined)('is loaded anew by an open page of another version', async () => {
  const browser = await launchBrowser();
  const parley = await startParley({ pages: new Map(Object.entries(await consoleFiles())) });
  const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console');
  await settled(page);
  let isLoadedAnew = false;
  await page.route('**/console', async (route) => {
    if (route.request().isNavigationRequest()) return route.continue();
    await route.fulfill({ body: '<script src="/console/assets/main-OTHER.js"></script>' });
  });
  await page.route('**/console/keys', async (route) => {
    isLoadedAnew = route.request().isNavigationRequest();
    await route.continue();
  });
  await page.route('**/assets/*.js', (route) =>
    isLoadedAnew ? route.continue() : route.fulfill({ status: 404 }),
  );
  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  expect(isLoadedAnew).toBe(true);
  await Promise.all([browser.close(), parley.close()]);
});
