/**
 * The pages of the console on a database with many records: PARLEY_CONSOLE_RECORDS of them, by default 200,000. It prints when each page
 * has its content, its calls with the slowest one, and the CPU time and memory of this process, which also drives the browser.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { launchBrowser, missingBrowser, openSignedIn, settled } from '../support/console-browser.ts';
import { accountNameOf, fillRecords } from '../support/many-records.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { newStoreFolder } from '../support/store-folder.ts';

const records = Number(process.env['PARLEY_CONSOLE_RECORDS'] ?? 200_000);
const accounts = 2_000;
const fillMsMax = 3_600_000;
const largest = accountNameOf(1);

const operatorPages = [
  ...['', '/accounts', '/accounts?sort=last_used', `/accounts/${largest}`, `/accounts/${largest}/statement`],
  ...[
    '/usage',
    '/usage?period=90d',
    '/usage?period=90d&by=account',
    '/usage?period=90d&operation=transcription',
  ],
  ...['/usage?period=90d&state=failed', '/usage?period=90d&state=refused', '/usage?period=90d&model=unknown'],
  ...['/models', '/server', '/keys', '/audit', '/playground'],
];
const holderPages = [
  ...['', '/usage', '/usage?period=90d&by=key', '/usage?period=90d&operation=transcription', '/keys'],
  ...['/credits', '/credits/statement', '/alerts', '/playground'],
];

let browser: Browser;
let parley: Parley;

beforeAll(async () => {
  if (missingBrowser !== undefined) return;
  browser = await launchBrowser();
  const folder = await newStoreFolder();
  await fillRecords(folder.path, { accounts, records, untilMs: Date.now() });
  parley = await startParley({ folder, pages: new Map(Object.entries(await consoleFiles())) });
}, fillMsMax);
afterAll(async () => {
  if (missingBrowser !== undefined) return;
  await browser.close();
  await parley.close();
});

/** Shows a page, and prints what it took. */
async function show(page: Page, path: string): Promise<void> {
  const calls: { readonly name: string; readonly ms: number }[] = [];
  const note = (request: { url(): string; timing(): { requestStart: number; responseEnd: number } }) => {
    const { requestStart, responseEnd } = request.timing();
    const [, name] = /\.v1\.\w+\/(\w+)$/.exec(request.url()) ?? [];
    if (name !== undefined) calls.push({ name, ms: Math.round(responseEnd - requestStart) });
  };
  page.on('requestfinished', note);
  const cpu = process.cpuUsage();
  const startedAtMs = performance.now();
  await page.goto(`${new URL(parley.baseUrl).origin}/console${path}`);
  await settled(page);
  const shownMs = Math.round(performance.now() - startedAtMs);
  const { user, system } = process.cpuUsage(cpu);
  page.off('requestfinished', note);
  const slowest = calls.sort((one, other) => other.ms - one.ms)[0];
  const [cpuMs, megabytes] = [Math.round((user + system) / 1e3), Math.round(process.memoryUsage.rss() / 1e6)];
  process.stdout.write(
    `${path || '/'}: ${shownMs} ms, ${calls.length} calls, ${slowest?.name} ${slowest?.ms} ms, CPU ${cpuMs} ms, ${megabytes} MB\n`,
  );
  expect(await page.getByRole('alert').filter({ hasText: /\S/ }).count()).toBe(0);
}

describe.skipIf(missingBrowser !== undefined)(
  `the console with ${records} records${missingBrowser === undefined ? '' : ` (${missingBrowser})`}`,
  () => {
    it('shows its pages to an operator', async () => {
      const { page, complaints } = await openSignedIn(browser, parley, parley.adminKey);
      for (const path of operatorPages) await show(page, path);
      await page.goto(`${new URL(parley.baseUrl).origin}/console/usage?period=90d&state=failed`);
      const rows = page.getByRole('region', { name: 'Requests as a table' }).locator('tbody tr');
      await expect.poll(() => rows.count()).toBe(50);
      expect(complaints).toEqual([]);
    });

    it('shows its pages to the holder of the largest account', async () => {
      const made = await parley.admin(`/accounts/${encodeURIComponent(largest)}/keys`, {
        name: 'own',
        scopes: ['chat', 'manage'],
      });
      const { secret } = (await made.json()) as { secret: string };
      const { page, complaints } = await openSignedIn(browser, parley, secret);
      for (const path of holderPages) await show(page, path);
      expect(complaints).toEqual([]);
    });
  },
);
