/** An operator changes several accounts at once, in a real browser. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { violations } from '../support/axe-violations.ts';
import { openSignedIn, settled } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';

const names = ['Amber', 'Basalt', 'Coral', 'Dune', '=HYPERLINK("http://evil.example")'];
const narrow = { viewport: { width: 390, height: 844 } };

interface AccountJson {
  readonly id: string;
  readonly name: string;
  readonly balance: string;
  readonly created_at: string;
  readonly subscription: { readonly state: string; readonly ends_at?: string };
  readonly limits?: object;
}

let browser: Browser;
let parley: Parley;

const administer = (path: string, body: object) =>
  parley.call(`/admin/accounts${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    ...bearer(parley.adminKey),
  });

async function read(name: string): Promise<AccountJson> {
  const answer = await parley.call(`/admin/accounts/${encodeURIComponent(name)}`, bearer(parley.adminKey));
  return (await answer.json()) as AccountJson;
}

const open = (options = {}) =>
  openSignedIn(browser, parley, parley.adminKey, '/console/accounts?sort=name', options);
const boxOf = (page: Page, name: string) => page.getByLabel(`Select ${name}`, { exact: true });
const bar = (page: Page) => page.getByRole('region', { name: 'Selected accounts' });
const dialogOf = (page: Page) => page.getByRole('dialog');

async function close(page: Page): Promise<void> {
  await dialogOf(page).getByRole('button', { name: 'Close' }).click();
  await dialogOf(page).waitFor({ state: 'detached' });
  await settled(page);
}

inBrowser(
  'several accounts',
  async (opened) => {
    browser = opened.browser;
    parley = await startParley({ pages: opened.pages });
    opened.atEnd(() => parley.close());
    for (const name of names) await administer('', { name });
  },
  () => {
    it('get limits by the keyboard alone, which leave their other limits', async () => {
      const { page, complaints } = await open();
      const before = await page.evaluate('performance.getEntriesByType("resource").length');
      await boxOf(page, 'Amber').focus();
      await page.keyboard.press('Space');
      await boxOf(page, 'Coral').focus();
      await page.keyboard.press('Space');
      await bar(page).getByText('2 of 6 selected').waitFor();
      expect(await page.locator('thead :indeterminate').count()).toBe(1);
      // No code of the dialog is loaded before it is opened.
      expect(await page.evaluate('performance.getEntriesByType("resource").length')).toBe(before);
      // Another limit, set while this page is open.
      await administer('/Coral/limits', { limits: { tokens_per_minute: 9000, budgets: { day: '3' } } });
      await bar(page).getByRole('button', { name: 'Limits' }).focus();
      await page.keyboard.press('Enter');
      await dialogOf(page).getByLabel('Credits per day', { exact: true }).first().waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.type('20');
      await dialogOf(page).getByLabel('Requests per minute').first().fill('60');
      await dialogOf(page).getByLabel('Models').first().fill('eliza');
      expect(await violations(page)).toEqual([]);
      await dialogOf(page).getByLabel('Requests per minute').first().press('Enter');
      await dialogOf(page).getByText('2 of 2 accounts changed.').waitFor();
      await expect.poll(() => page.evaluate('document.activeElement.textContent')).toContain('2 of 2');
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await dialogOf(page).waitFor({ state: 'detached' });
      await bar(page).getByText('Select accounts').waitFor();
      await expect
        .poll(() => page.evaluate('document.activeElement.textContent'))
        .toContain('Select accounts');
      const set = { requests_per_minute: 60, models: ['eliza'] };
      expect((await read('Amber')).limits).toEqual({ ...set, budgets: { month: '20' } });
      expect((await read('Coral')).limits).toEqual({
        ...set,
        tokens_per_minute: 9000,
        budgets: { day: '3', month: '20' },
      });
      expect((await read('Basalt')).limits).toBeUndefined();
      expect(complaints).toEqual([]);
    });

    it('stay as they are where they changed meanwhile, or where the server refuses', async () => {
      const { page } = await open();
      await page.getByLabel('Select all that are shown').check();
      await bar(page).getByText('6 of 6 selected').waitFor();
      await boxOf(page, 'account-1').uncheck();
      await administer('/Amber/limits', { limits: { requests_per_minute: 7 } });
      await administer('/Dune/delete', {});
      await bar(page).getByRole('button', { name: 'Limits' }).click();
      const dialog = dialogOf(page);
      await dialog.getByRole('button', { name: 'Set the limits' }).click();
      await dialog.getByRole('alert').getByText('Fill in or remove at least one limit.').waitFor();
      // A field that is wrong for all is refused once, at the field.
      await dialog.getByLabel('Credits per month').first().fill('many');
      await dialog.getByRole('button', { name: 'Set the limits' }).click();
      await dialog.getByRole('alert').getByText('"many" is not an amount of credits').waitFor();
      await dialog.getByLabel('Credits per month').first().fill('');
      await dialog.getByLabel('Requests per minute').first().fill('90');
      await dialog.getByRole('button', { name: 'Set the limits' }).click();
      await dialog.getByText('3 of 5 accounts changed.').waitFor();
      const refused = await dialog.getByRole('listitem').allTextContents();
      expect(refused).toEqual([
        'Amber: It was changed since this list was loaded.',
        expect.stringMatching(/^Dune: .*deleted/),
      ]);
      expect(await violations(page)).toEqual([]);
      await close(page);
      // Those remain selected, if they are still listed.
      await bar(page).getByText('1 of 5 selected').waitFor();
      expect((await read('Amber')).limits).toEqual({ requests_per_minute: 7 });
      for (const name of ['Basalt', 'Coral', names[4] ?? '']) {
        expect((await read(name)).limits).toMatchObject({ requests_per_minute: 90 });
      }
      expect((await read('account-1')).limits).toBeUndefined();
    });

    it('lose the limits that are ticked, and keep the others', async () => {
      const kept = { tokens_per_minute: 500, budgets: { month: '8' } };
      const limits = { ...kept, requests_per_minute: 5, models: ['eliza'], per_end_user: { day: '1' } };
      await administer('/Basalt/limits', { limits });
      await administer('/account-1/limits', { limits: { models: ['eliza'] } });
      const { page, complaints } = await open();
      for (const name of ['Basalt', 'account-1']) await boxOf(page, name).check();
      await bar(page).getByRole('button', { name: 'Limits' }).click();
      const dialog = dialogOf(page);
      await dialog.locator('summary', { hasText: 'Remove limits' }).click();
      expect(await violations(page)).toEqual([]);
      const removal = dialog.getByRole('group', { name: 'Remove from every account' });
      for (const name of ['Requests per minute', 'Models', 'Credits of each end user per day'])
        await removal.getByLabel(name).check();
      await dialog.getByRole('spinbutton', { name: 'Requests per minute' }).fill('4');
      await dialog.getByRole('button', { name: 'Set the limits' }).click();
      await dialog.getByRole('alert').getByText('Requests per minute: fill it in or remove it').waitFor();
      await dialog.getByRole('spinbutton', { name: 'Requests per minute' }).fill('');
      await dialog.getByRole('button', { name: 'Set the limits' }).click();
      await dialog.getByText('2 of 2 accounts changed.').waitFor();
      await close(page);
      expect((await read('Basalt')).limits).toEqual(kept);
      expect((await read('account-1')).limits).toBeUndefined();
      expect(complaints).toEqual([]);
    });

    it('get a plan that shortens none, on a phone', async () => {
      await administer('/Basalt/plan', { ends_at: '2090-01-01T00:00:00Z' });
      const { page } = await open(narrow);
      for (const name of ['Amber', 'Basalt', 'Coral']) await boxOf(page, name).check();
      expect(await violations(page)).toEqual([]);
      const width = 'document.documentElement.scrollWidth';
      expect(await page.evaluate(width)).toBe(390);
      await bar(page).getByRole('button', { name: 'Plan' }).click();
      const dialog = dialogOf(page);
      await dialog.getByLabel('Until (UTC)').fill('2089-06-30');
      await dialog.getByRole('button', { name: 'Open or extend them' }).click();
      await dialog.getByText('2 of 3 accounts changed.').waitFor();
      await dialog.getByText('Its plan ends later.').waitFor();
      expect(await page.evaluate(width)).toBe(390);
      expect(await violations(page)).toEqual([]);
      await close(page);
      const ends = async (name: string) => (await read(name)).subscription.ends_at;
      expect(await Promise.all(['Amber', 'Basalt', 'Coral'].map(ends))).toEqual([
        expect.stringMatching(/^2089-06-30T00:00:00/),
        expect.stringMatching(/^2090-01-01T00:00:00/),
        expect.stringMatching(/^2089-06-30T00:00:00/),
      ]);
    });

    it('are changed one after the other until the operator stops', async () => {
      const { page } = await open();
      for (const name of ['Amber', 'Basalt', 'Coral']) await boxOf(page, name).check();
      let release = () => {};
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      let calls = 0;
      await page.route('**/SetAccountLimits', async (route) => {
        calls++;
        if (calls === 2) await held;
        await route.continue();
      });
      await bar(page).getByRole('button', { name: 'Limits' }).click();
      const dialog = dialogOf(page);
      await dialog.getByLabel('Concurrent requests').first().fill('4');
      await dialog.getByRole('button', { name: 'Set the limits' }).click();
      await dialog.getByText('1 of 3 done').waitFor();
      expect(await dialog.getByRole('progressbar').getAttribute('value')).toBe('1');
      // It stays open while it works.
      await page.keyboard.press('Escape');
      await dialog.getByRole('button', { name: 'Stop' }).click();
      release();
      await dialog.getByText('Stopped. 2 of 3 accounts changed.').waitFor();
      await close(page);
      await bar(page).getByText('1 of 5 selected').waitFor();
      expect(await boxOf(page, 'Coral').isChecked()).toBe(true);
      const limits = await Promise.all(['Amber', 'Basalt', 'Coral'].map(read));
      const at = limits.map(
        (account) => (account.limits as { concurrent_requests?: number }).concurrent_requests,
      );
      expect(at).toEqual([4, 4, undefined]);
    });

    it('stop where the server cannot be reached', async () => {
      const { page } = await open();
      for (const name of ['Amber', 'Coral']) await boxOf(page, name).check();
      let calls = 0;
      await page.route('**/GetAccount', (route) => (++calls > 1 ? route.abort() : route.continue()));
      await bar(page).getByRole('button', { name: 'Limits' }).click();
      await dialogOf(page).getByLabel('Concurrent requests').first().fill('5');
      await dialogOf(page).getByRole('button', { name: 'Set the limits' }).click();
      await dialogOf(page).getByText('The server cannot be reached. 1 of 2 accounts changed.').waitFor();
      expect((await read('Coral')).limits).not.toMatchObject({ concurrent_requests: 5 });
    });

    it('are saved as CSV that a spreadsheet does not run', async () => {
      const { page } = await open();
      const formula = names[4] ?? '';
      for (const name of ['Amber', formula]) await boxOf(page, name).check();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        bar(page).getByRole('button', { name: 'Save as CSV' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe('parley-accounts.csv');
      const [head = '', ...lines] = readFileSync(await download.path(), 'utf8')
        .trimEnd()
        .split('\r\n');
      expect(lines).toHaveLength(2);
      const { id, balance, created_at, subscription } = await read('Amber');
      const amber = lines.find((line) => line.startsWith(`${id},`))?.split(',') ?? [];
      const cells = Object.fromEntries(head.split(',').map((name, at) => [name, amber[at]]));
      expect(cells).toMatchObject({
        id,
        name: 'Amber',
        balance,
        created_at: new Date(created_at).toISOString(),
        'subscription.state': subscription.state,
        'subscription.ends_at': new Date(String(subscription.ends_at)).toISOString(),
        'limits.requests_per_minute': '7',
        'limits.concurrent_requests': '5',
      });
      expect(lines.join()).toContain(`"'${formula.replaceAll('"', '""')}"`);
    });

    it('are only saved by a key that may not change them', async () => {
      const answer = await parley.call('/admin/keys', {
        method: 'POST',
        body: JSON.stringify({ name: 'Desk', scopes: ['accounts:read'] }),
        ...bearer(parley.adminKey),
      });
      const { secret } = (await answer.json()) as { secret: string };
      const { page } = await openSignedIn(browser, parley, secret, '/console/accounts');
      await boxOf(page, 'Amber').check();
      expect(await bar(page).getByRole('button').allTextContents()).toEqual(['Save as CSV']);
    });
  },
);
