/** What the first load of each page of the console takes on the wire. */
import { expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { launchBrowser, missingBrowser, openSignedIn, settled } from '../support/console-browser.ts';
import { startParley } from '../support/parley.ts';

const bytesMax = 120 * 1024;
const holder = ['', '/usage', '/keys', '/credits', '/alerts', '/models', '/playground'];
const operator = ['', '/accounts', '/accounts/account-1', '/usage', '/server', '/keys', '/audit'];

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
