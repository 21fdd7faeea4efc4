/** The guides and the frame of all pages under `/docs`, in Debian's Chromium. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { guideGroups } from '../../scripts/console/guide-list.ts';
import { violations } from '../support/axe-violations.ts';
import {
  launchBrowser,
  missingBrowser,
  openConsole,
  pressSlash,
  withClipboard,
} from '../support/console-browser.ts';
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

describe.skipIf(missingBrowser !== undefined)(`the guides ${missingBrowser ?? ''}`, () => {
  it('searches by the keyboard, and loads the index when the search begins', async () => {
    const { page, complaints } = await openConsole(browser, parley, '/docs/guides/money');
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    expect(requests).toEqual([]);
    await pressSlash(page);
    await page.keyboard.type('dry_run');
    const results = page.locator('.results a');
    await results.first().waitFor();
    expect(requests.filter((path) => /search-.*json/.test(path))).toHaveLength(1);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/api/adminPruneUsageRecords');
    await pressSlash(page);
    await page.keyboard.type('429');
    await expect.poll(() => results.first().textContent()).toContain('rate_limit_exceeded');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    expect(await results.nth(1).evaluate((link) => link.matches(':focus'))).toBe(true);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/docs/guides/errors#rate_limit_exceeded');
    await expect.poll(() => page.locator('#rate_limit_exceeded').isVisible()).toBe(true);
    await page.getByRole('searchbox').fill('xylophone');
    await page.getByText('No results for').waitFor();
    await page.getByRole('searchbox').fill('voice');
    await results.first().waitFor();
    await page.keyboard.press('Escape');
    await expect.poll(() => results.count()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('shows a guide with links, anchors, a drawing and code to copy', async () => {
    const { page, complaints } = await openConsole(browser, parley, '/docs/guides', withClipboard);
    await page.locator('main').getByRole('link', { name: 'TLS step by step' }).click();
    const code = page.locator('main .code').first();
    await code.getByRole('button', { name: 'Copy' }).click();
    await code.getByRole('button', { name: 'Copied' }).waitFor();
    await expect
      .poll(() => page.evaluate<string>('navigator.clipboard.readText()'))
      .toMatch(/^openssl req -x509/);
    await page.locator('aside').getByRole('link', { name: 'nginx in front' }).click();
    await page.waitForURL('**/docs/guides/tls#nginx-in-front');
    await page.getByRole('link', { name: 'Behind a reverse proxy' }).click();
    await page.waitForURL('**/docs/guides/operation#behind-a-reverse-proxy');
    await page.locator('aside').getByRole('link', { name: 'Architecture' }).click();
    await page.getByRole('img', { name: /Clients reach one port/ }).waitFor();
    await expect
      .poll(() => page.evaluate<number>('document.querySelector("main img").naturalWidth'))
      .toBeGreaterThan(500);
    expect(complaints).toEqual([]);
  });

  it('shows the top of a guide, and the guide in the contents', async () => {
    const viewport = { width: 1440, height: 600 };
    const { page } = await openConsole(browser, parley, '/docs/guides/binary', { viewport });
    const link = page.locator('aside [aria-current="page"]');
    await expect.poll(async () => (await link.boundingBox())?.y).toBeLessThan(viewport.height);
    expect(await page.evaluate<number>('scrollY')).toBe(0);
  });

  it('shows a page with ways back at an address that does not exist', async () => {
    const { page } = await openConsole(browser, parley, '/docs/nonsense');
    expect(await page.locator('h1').textContent()).toBe('Page not found');
    await page.locator('main').getByRole('link', { name: 'The guides' }).click();
    await page.waitForURL('**/docs/guides');
  });

  it('leads back to the console, unless there is none', async () => {
    const { page } = await openConsole(browser, parley, '/docs/guides/money');
    await page.getByRole('link', { name: 'Console', exact: true }).click();
    await page.waitForURL('**/console');
    const pages = new Map(Object.entries(await consoleFiles()));
    const without = await startParley({ pages, settings: { console: { access: 'off' } } });
    const bare = await openConsole(browser, without, '/docs');
    await bare.page.waitForLoadState('networkidle');
    expect(await bare.page.getByRole('link', { name: 'Console', exact: true }).count()).toBe(0);
    await without.close();
  });

  it.each(['light', 'dark'] as const)(
    'has no accessibility fault that axe finds, in the %s theme',
    async (colorScheme) => {
      const frames = ['/docs', '/docs/rpcs', '/docs/guides', '/docs/nonsense'];
      // All guides have the same style, so that one theme finds the faults of their content.
      const names =
        colorScheme === 'light' ? Object.values(guideGroups).flat() : ['tls', 'errors', 'architecture'];
      for (const path of [...frames, ...names.map((name) => `/docs/guides/${name}`)]) {
        const { page } = await openConsole(browser, parley, path, { colorScheme });
        expect(await violations(page), path).toEqual([]);
        await page.context().close();
      }
    },
  );

  it.each([320, 768, 1440, 2560])('fits a screen of %i pixels', async (width) => {
    const paths = [
      '/docs',
      '/docs/rpcs',
      '/docs/api/createChatCompletion',
      '/docs/guides',
      '/docs/guides/tls',
    ];
    for (const path of [...paths, '/docs/guides/limits', '/docs/guides/architecture', '/docs/nonsense']) {
      const { page } = await openConsole(browser, parley, path, { viewport: { width, height: 800 } });
      if (path.includes('/api/')) await page.locator('.samples').waitFor();
      for (const summary of await page.locator('main summary').all()) await summary.click();
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
      expect(over).toBeLessThanOrEqual(0);
      await page.context().close();
    }
  });

  it('follows the theme of the system until the reader chooses one', async () => {
    const background = (page: Page) =>
      page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const { page } = await openConsole(browser, parley, '/docs', { colorScheme: 'dark' });
    const dark = await background(page);
    await page.getByLabel('Theme').selectOption('light');
    await expect.poll(() => background(page)).not.toBe(dark);
    const light = await background(page);
    await page.reload();
    await page.locator('h1').waitFor();
    await expect.poll(() => background(page)).toBe(light);
  });
});
