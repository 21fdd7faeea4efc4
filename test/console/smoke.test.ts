/** A quick test of the console in a real browser. test/slow tests all of it. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { isFirefox, launchBrowser, missingBrowser, openSignedIn } from '../support/console-browser.ts';
import { type Parley, startParley } from '../support/parley.ts';

let browser: Browser;
let parley: Parley;

beforeAll(async () => {
  if (missingBrowser !== undefined) return;
  browser = await launchBrowser();
  parley = await startParley({ pages: new Map(Object.entries(await consoleFiles())) });
});
afterAll(async () => {
  if (missingBrowser !== undefined) return;
  await browser.close();
  await parley.close();
});

describe.skipIf(missingBrowser !== undefined)(
  `the console in a browser${missingBrowser === undefined ? '' : ` (${missingBrowser})`}`,
  () => {
    it('lets a holder chat and shows the cost', async () => {
      const { page, complaints } = await openSignedIn(browser, parley, parley.apiKey, '/console/playground');
      await page.getByLabel('Message', { exact: true }).fill('I am here.');
      await page.keyboard.press('Enter');
      await page.getByText(' in total').waitFor();
      await page.getByRole('link', { name: 'Credits' }).click();
      await page.getByRole('cell', { name: 'debit' }).waitFor();
      await page.getByRole('link', { name: 'Statement of a month' }).click();
      await page.getByRole('row', { name: /^debit eliza \S+/ }).waitFor();
      await page.getByRole('link', { name: 'Usage' }).click();
      await page.locator('.plot canvas').waitFor();
      expect(complaints).toEqual([]);
    });

    // Playwright cannot show Firefox's pages as they are printed.
    it.skipIf(isFirefox)('prints a statement without the navigation', async () => {
      await (
        await parley.postJson('/chat/completions', {
          model: 'eliza',
          messages: [{ role: 'user', content: 'Hello.' }],
        })
      ).text();
      const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console/credits');
      await page.getByRole('link', { name: 'Statement of a month' }).click();
      const debits = page.getByRole('row', { name: /^debit eliza \S+/ }).first();
      await debits.waitFor();
      await page.emulateMedia({ media: 'print' });
      expect(await debits.isVisible()).toBe(true);
      expect(await page.getByRole('navigation').isVisible()).toBe(false);
    });

    it('shows an operator the accounts and the server', async () => {
      const { page, complaints } = await openSignedIn(browser, parley, parley.adminKey);
      await page.getByRole('link', { name: 'Accounts' }).click();
      await page.getByRole('link', { name: 'account-1' }).waitFor();
      await page.getByRole('link', { name: 'Server' }).click();
      await page.getByRole('rowheader', { name: 'server.port', exact: true }).waitFor();
      expect(complaints).toEqual([]);
    });
  },
);
