/** Tables, names and periods of the console with many accounts and records, in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { newAccountId, newKeyId } from '../../src/core/values/ids.ts';
import { nanoCredits } from '../../src/core/values/money.ts';
import { violations } from '../support/axe-violations.ts';
import { openSignedIn, settled } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';
import { auditEntry, storedKey } from '../support/stored-key.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

const accountsCount = 1_200;
const dayMs = 86_400_000;
const todayMs = Math.floor(Date.now() / dayMs) * dayMs;
/** The index of the account with the most credits spent. */
const largest = 1_150;
const nameOf = (n: number) => `Cartography Laboratory ${n}`;

let browser: Browser;
let parley: Parley;
let origin: string;

const failedAttempt = {
  engine: 'azure',
  code: 'upstream_error',
  upstreamStatus: 429,
  upstreamCode: 'insufficient_quota',
  durationMs: 210,
};

/** Three days of use by the last 60 accounts. */
async function seed(): Promise<void> {
  const { store } = parley.app;
  for (let n = 0; n < accountsCount; n++) {
    const accountId = newAccountId(todayMs + n);
    await store.accounts.create({ id: accountId, name: nameOf(n), createdAtMs: todayMs }, auditEntry());
    if (n < accountsCount - 60) continue;
    const keyId = newKeyId(todayMs + n);
    const lastFour = String(n);
    await store.keys.create(
      storedKey(keyId, accountId, { hash: keyId, name: 'Site', lastFour }),
      auditEntry(),
    );
    for (const [day, state] of ['ok', 'failed', 'ok'].entries()) {
      // A page shows 50 requests: those of the largest account are the newest.
      const startedAtMs = todayMs - day * dayMs + (n === largest ? 1 : 0);
      const end = {
        firstOutputMs: n,
        code: state === 'failed' ? 'upstream_error' : undefined,
        httpStatus: state === 'failed' ? 502 : 200,
        engine: 'azure',
        cause: state === 'failed' ? { attempts: [failedAttempt] } : undefined,
        cost: state === 'ok' ? nanoCredits(n === largest ? 9_000_000_000n : 1_000_000n) : undefined,
      };
      const start = recordStart({ accountId, keyId }, { startedAtMs, model: 'a-model-with-a-long-name' });
      await store.requests.record(start, recordEnd(state as 'ok' | 'failed', end));
    }
  }
}

const open = (path: string, width = 1280) =>
  openSignedIn(browser, parley, parley.adminKey, `/console${path}`, { viewport: { width, height: 900 } });
const requests = (page: Page) => page.getByRole('region', { name: 'Requests as a table' });
const titles = (page: Page) => requests(page).locator('thead th').allTextContents();

inBrowser(
  'tables of the console',
  async (opened) => {
    browser = opened.browser;
    parley = await startParley({ pages: opened.pages });
    opened.atEnd(() => parley.close());
    origin = new URL(parley.baseUrl).origin;
    await seed();
  },
  () => {
    it('keep an id that is typed while their rows are loading', async () => {
      const { page } = await open('');
      const answered = Promise.withResolvers<void>();
      await page.route('**/ListUsageRecords', async (route) => {
        await answered.promise;
        await route.continue();
      });
      await page.getByRole('link', { name: 'Usage', exact: true }).click();
      const field = page.getByLabel('Request id');
      await field.fill('typed');
      answered.resolve();
      await requests(page).waitFor();
      expect(await field.inputValue()).toBe('typed');
    });

    it.each([320, 768, 1280, 1920])('fit a window of %d pixels', async (width) => {
      const { page } = await open('', width);
      for (const path of ['', '/usage', '/accounts', '/audit', `/accounts/${nameOf(largest)}`]) {
        await page.goto(`${origin}/console${path}`);
        await settled(page);
        await expect
          .poll(() =>
            page.evaluate<string[]>(`[...document.querySelectorAll('.scroll')]
              .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
              .map((part) => part.getAttribute('aria-label'))`),
          )
          .toEqual([]);
      }
    });

    it('show all columns in a wide window, and drop the least important first', async () => {
      const { page } = await open('/usage', 1920);
      await expect.poll(() => titles(page)).toHaveLength(11);
      const { width = 0 } = (await requests(page).boundingBox()) ?? {};
      expect(width).toBeGreaterThan(1_500);
      await page.setViewportSize({ width: 768, height: 900 });
      await expect.poll(async () => (await titles(page)).includes('First output')).toBe(false);
      expect(await titles(page)).toEqual(expect.arrayContaining(['Time', 'Account', 'State']));
      await page.setViewportSize({ width: 1920, height: 900 });
      await expect.poll(() => titles(page)).toHaveLength(11);
    });

    it('have two lines a row on a phone, with model, cost and who, as the API has them', async () => {
      const { page } = await open('/usage', 390);
      const answer = await parley.call('/admin/usage?operation=chat&page_size=3', bearer(parley.adminKey));
      const { records } = (await answer.json()) as {
        records: { model: string; cost_nano_credits: number }[];
      };
      for (const [place, { model, cost_nano_credits: nano }] of records.entries()) {
        const row = requests(page).locator('tbody tr').nth(place);
        await row.getByText(model).waitFor();
        expect(await row.getByTitle(`${Number(nano) / 1e9} credits`).isVisible()).toBe(true);
        expect(await row.textContent()).toMatch(/Cartography Laboratory \d+/);
        expect((await row.boundingBox())?.height).toBeLessThan(80);
      }
      await page.goto(`${origin}/console/audit`);
      await settled(page);
      const entry = page.getByRole('region', { name: 'Audit trail' }).locator('tbody tr').first();
      expect((await entry.textContent())?.length).toBeGreaterThan(30);
      expect(await violations(page)).toEqual([]);
    });

    it('keep the columns that the reader has chosen', async () => {
      const { page } = await open('/usage');
      const choice = page.locator('summary[aria-label="Columns of Requests as a table"]');
      await choice.click();
      const columns = page.getByRole('group', { name: 'Columns' });
      await columns.getByLabel('Key').check();
      await columns.getByLabel('Model').uncheck();
      await expect.poll(() => titles(page)).toContain('Key');
      expect(await violations(page)).toEqual([]);
      await page.reload();
      await settled(page);
      const chosen = await titles(page);
      expect(chosen).toContain('Key');
      expect(chosen).not.toContain('Model');
      await choice.click();
      await columns.getByRole('button', { name: 'As many as fit' }).click();
      await expect.poll(() => titles(page)).toContain('Model');
    });

    it('name accounts and keys beyond any first page', async () => {
      const { page, complaints } = await open('/usage?by=account', 1920);
      await requests(page).getByText(nameOf(largest), { exact: true }).first().waitFor();
      await requests(page).getByText(`Site …${largest}`, { exact: true }).first().waitFor();
      await page.getByRole('region', { name: 'Sums as a table' }).getByText(nameOf(1_140)).waitFor();
      expect(await requests(page).textContent()).not.toMatch(/acc_|key_/);
      expect(complaints).toEqual([]);
    });

    it('filters by an account that is found by a part of its name', async () => {
      const { page } = await open('/usage');
      const field = page.getByRole('combobox', { name: 'Account' });
      await field.fill('laboratory 1150');
      await expect.poll(() => page.locator('datalist option').count()).toBe(1);
      await field.fill(nameOf(largest));
      await expect.poll(() => page.url()).toContain('account=acc_');
      await expect.poll(() => requests(page).locator('tbody tr').count()).toBe(3);
      await page.reload();
      await settled(page);
      await expect.poll(() => field.inputValue()).toBe(nameOf(largest));
      await field.fill('');
      await expect.poll(() => page.url()).not.toContain('account=');
      await field.fill('nobody');
      await field.press('Enter');
      await field.blur();
      await page.getByRole('alert').filter({ hasText: 'nobody' }).waitFor();
    });

    it('shows usage of chosen days, which a link keeps, and of a day by the hour', async () => {
      const { page } = await open('/usage');
      const day = (daysAgo: number) => new Date(todayMs - daysAgo * dayMs).toISOString().slice(0, 10);
      await page.getByText('Dates', { exact: true }).click();
      await page.getByLabel('From').fill(day(2));
      await page.getByLabel('To (UTC)').fill(day(1));
      await expect.poll(() => page.url()).toContain(`period=dates&from=${day(2)}&to=${day(1)}`);
      const count = page.getByRole('region', { name: 'Sums', exact: true }).locator('dd').first();
      await expect.poll(() => count.textContent()).toBe('120');
      await page.reload();
      await settled(page);
      await expect.poll(() => count.textContent()).toBe('120');
      await page.getByRole('img', { name: 'Requests by hour' }).waitFor();
      await page.getByText('Today', { exact: true }).click();
      await expect.poll(() => count.textContent()).toBe('60');
      expect(page.url()).not.toContain('from=');
      await page.getByRole('img', { name: 'Requests by hour' }).waitFor();
    });

    it.each(['Asia/Tokyo', 'Asia/Kolkata', 'America/Los_Angeles'])(
      'shows the same hours and days in %s',
      async (timezoneId) => {
        const path = '/console/usage?period=today';
        const { page } = await openSignedIn(browser, parley, parley.adminKey, path, { timezoneId });
        const plot = page.locator('.plot');
        await plot.locator('canvas').waitFor();
        const { width = 0, height = 0 } = (await plot.boundingBox()) ?? {};
        // The first of 24 bars, right of the axis.
        await plot.hover({ position: { x: 64 + (width - 72) * 0.045, y: height / 2 } });
        await page.getByText('12:00 AM (UTC)').waitFor();
        expect(await page.locator('figcaption .series strong').first().textContent()).toBe('60');
      },
    );

    it('shows all times of a page in one zone, which it names, and in that of the reader if they choose it', async () => {
      const path = '/console/usage?period=7d&state=failed';
      const { page } = await openSignedIn(browser, parley, parley.adminKey, path, {
        timezoneId: 'Asia/Tokyo',
        viewport: { width: 1280, height: 900 },
      });
      const time = requests(page).locator('tbody tr').first().locator('time');
      const shown = (timeZone: string, at: string | null) =>
        new Date(at ?? '').toLocaleString('en-US', { dateStyle: 'medium', timeStyle: 'medium', timeZone });
      const at = await time.getAttribute('datetime');
      expect(await time.textContent()).toBe(shown('UTC', at));
      await page.getByText('Times are in UTC.').waitFor();
      await page.getByLabel('Times').selectOption('Asia/Tokyo');
      await page.getByText('Times are in Asia/Tokyo.').waitFor();
      await expect.poll(() => time.textContent()).toBe(shown('Asia/Tokyo', at));
      await page.goto(`${origin}/console/usage?period=today`);
      await settled(page);
      await expect.poll(() => time.first().textContent()).toMatch(/9:00:00 AM$/);
      expect(await violations(page)).toEqual([]);
    });

    it('tells why a request failed, and finds and sums all like it', async () => {
      const { page, complaints } = await open('/usage?period=7d&by=engine&state=failed', 1920);
      const sums = page.getByRole('region', { name: 'Sums as a table' });
      await expect
        .poll(() => sums.locator('tbody tr').allInnerTexts())
        .toEqual([expect.stringMatching(/azure\s+60/)]);
      const requests = page.getByRole('region', { name: 'Requests as a table' });
      await requests.locator('tbody tr').first().getByRole('button').click();
      const dialog = page.getByRole('dialog');
      const attempt = 'azure: upstream_error, its upstream answered 429 (insufficient_quota), after 210 ms';
      await expect.poll(() => dialog.textContent()).toContain(attempt);
      const code = dialog.getByRole('link', { name: 'upstream_error', exact: true });
      expect(await code.getAttribute('href')).toBe('/docs/guides/errors#upstream_error');
      await dialog.getByRole('link', { name: 'All requests with this code' }).click();
      await settled(page);
      expect(await page.getByLabel('Code', { exact: true }).inputValue()).toBe('upstream_error');
      await expect
        .poll(() => sums.locator('tbody tr').allInnerTexts())
        .toEqual([expect.stringMatching(/chat\s+60/)]);
      await page.goto(`${origin}/console/usage?period=90d&by=code`);
      await expect.poll(() => page.getByText('are of at most 31 days').count()).toBe(1);
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });

    it('sums up the activity on the overview', async () => {
      const load = { amount: '12.5', reason: 'Invoice', idempotency_key: 'overview' };
      await parley.admin(`/accounts/${nameOf(0)}/credits`, load);
      const { page, complaints } = await open('?period=30d');
      const activity = page.getByRole('region', { name: 'Activity' });
      const rows = activity.getByRole('region', { name: 'Top accounts' }).locator('tbody tr');
      await expect.poll(() => rows.count()).toBe(6);
      expect(await rows.first().textContent()).toBe(`${nameOf(largest)}318.000`);
      expect(await rows.last().textContent()).toContain('all others');
      await activity.getByRole('region', { name: 'Failures' }).getByText('upstream_error 60').waitFor();
      const use = page.getByRole('region', { name: 'Use', exact: true });
      // The program's own first account was loaded with 10.
      await use.getByTitle('22.5 credits').waitFor();
      await use.getByText('18.11').waitFor();
      await page.getByText('Today', { exact: true }).click();
      await activity.getByText('Nothing failed in this period.').waitFor();
      await rows.getByRole('link', { name: nameOf(largest) }).click();
      await expect.poll(() => page.url()).toContain('/console/usage?period=today&account=acc_');
      expect(complaints).toEqual([]);
    });

    it('shows how soon each engine answers now, not in the past', async () => {
      const { page } = await open('/server', 1920);
      const row = page.getByRole('region', { name: 'Engines' }).getByRole('row', { name: /^builtin/ });
      await row.waitFor();
      // The records of the past days have times of more than a second.
      expect(await row.textContent()).not.toMatch(/95 %/);
      const chat = { model: 'eliza', messages: [{ role: 'user', content: 'Hello' }] };
      const answer = await parley.postJson('/chat/completions', chat, bearer(parley.apiKey));
      expect(answer.status).toBe(200);
      await page.getByRole('button', { name: 'Reload' }).click();
      await row.getByText(/^[\d.]+ m?s, 95 %: [\d.]+ m?s$/).waitFor();
      expect(await violations(page)).toEqual([]);
    });

    it('sorts requests and changes by their heads once all are loaded', async () => {
      const { page } = await open('/usage?period=30d', 1920);
      await page.getByText('Newest first. Once all are loaded, the heads sort them.').waitFor();
      expect(await requests(page).locator('thead button').count()).toBe(0);
      while (await page.getByRole('button', { name: 'Load more' }).isVisible()) {
        const before = await requests(page).locator('tbody tr').count();
        await page.getByRole('button', { name: 'Load more' }).click();
        await expect.poll(() => requests(page).locator('tbody tr').count()).toBeGreaterThan(before);
      }
      const answer = await parley.call('/admin/usage?page_size=1000&operation=chat', bearer(parley.adminKey));
      const { records } = (await answer.json()) as {
        records: { key_id: string; first_output_ms?: number; started_at: string }[];
      };
      const shown = requests(page).locator('tbody tr');
      const head = requests(page).getByRole('columnheader', { name: 'First output' });
      for (const direction of ['ascending', 'descending']) {
        await head.getByRole('button').click();
        await expect.poll(() => head.getAttribute('aria-sort')).toBe(direction);
        const sign = direction === 'ascending' ? 1 : -1;
        const wanted = records
          .map(({ first_output_ms: ms = 0 }) => ms)
          .sort((one, other) => sign * (one - other));
        const at = (await titles(page)).findIndex((title) => title.startsWith('First output'));
        const cells = await shown.locator(`:is(td, th):nth-child(${at + 1})`).allTextContents();
        const ms = cells.map(
          (text) => Number.parseFloat(text.replace(',', '')) * (/\dms| ms$/.test(text) ? 1 : 1000),
        );
        // Seconds have two places.
        expect(ms).toEqual(wanted.map((ms) => (ms < 1000 ? ms : Math.round(ms / 10) * 10)));
      }
      for (const name of ['sorted one', 'sorted two']) await parley.admin('/keys', { name });
      await page.goto(`${origin}/console/audit?search=sorted`);
      const time = page.getByRole('columnheader', { name: 'Time' });
      await time.getByRole('button').click();
      await expect.poll(() => time.getAttribute('aria-sort')).toBe('ascending');
      const found = await page.evaluate<string[]>(
        "[...document.querySelectorAll('tbody time')].map((one) => one.dateTime)",
      );
      expect(found).toEqual(found.toSorted());
      expect(found).toHaveLength(2);
      await page.getByText('sorted one').first().waitFor();
    });

    it('tells a browser at an unknown address that there is no such page, with a way back', async () => {
      const { page } = await open('/nonsense');
      await page.getByRole('heading', { name: 'Not found' }).waitFor();
      await page.getByRole('link', { name: 'Go to the home page.' }).click();
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
    });
  },
);
