/** An operator uses the console in a real browser. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { violations } from '../support/axe-violations.ts';
import { openSignedIn } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';

let browser: Browser;
let parley: Parley;

const administer = (path: string, body: string) =>
  parley.call(`/admin${path}`, { method: 'POST', body, ...bearer(parley.adminKey) });
const open = (path: string) => openSignedIn(browser, parley, parley.adminKey, `/console${path}`);

const menuActions =
  /^(Start the trial|Open a plan|End the trial|Correct the balance|Limits|Rename|Suspend|Resume|Delete)$/;

/** Presses a button, which for further actions is in the menu of the page. */
async function pressAction(page: Page, name: string): Promise<void> {
  if (menuActions.test(name)) await page.getByText('More actions').click();
  await page.getByRole('button', { name, exact: true }).click();
}

/** Opens a dialog by its button, fills it, and submits it. */
async function fill(
  page: Page,
  button: string,
  fields: Record<string, string>,
  submit: string,
): Promise<void> {
  await pressAction(page, button);
  const dialog = page.getByRole('dialog');
  for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
  await dialog.getByRole('button', { name: submit }).click();
}

inBrowser(
  'an operator',
  async (opened) => {
    browser = opened.browser;
    parley = await startParley({ pages: opened.pages });
    opened.atEnd(() => parley.close());
  },
  () => {
    it('creates an account with trial, credits and a working key, and undoes all of it', async () => {
      const { page, complaints } = await open('/accounts');
      await fill(page, 'New account', { Name: 'Blue Harbour' }, 'Create the account');
      await page.getByRole('heading', { name: 'Blue Harbour' }).waitFor();
      await fill(page, 'Start the trial', {}, 'Start the trial');
      await page.getByText('14 days left').waitFor();
      await fill(page, 'Load credits', { Credits: '2.5', Reason: 'Invoice 7' }, 'Load');
      await page.getByRole('cell', { name: 'Invoice 7' }).waitFor();
      await fill(
        page,
        'Correct the balance',
        { Credits: '-0.5', Reason: 'Too much' },
        'Enter the correction',
      );
      await page.getByTitle('2 credits').waitFor();
      await fill(page, 'New key', { Name: 'Website' }, 'Create the key');
      const secret = await page.getByRole('dialog').getByLabel('The new key').inputValue();
      expect((await parley.call('/models', bearer(secret))).status).toBe(200);
      await page.getByRole('dialog').getByRole('button', { name: 'I have stored it' }).click();
      await fill(page, 'Rotate Website', {}, 'Create the new key');
      const next = await page.getByRole('dialog').getByLabel('The new key').inputValue();
      expect(next).not.toBe(secret);
      for (const key of [secret, next]) expect((await parley.call('/models', bearer(key))).status).toBe(200);
      await page.getByRole('dialog').getByRole('button', { name: 'I have stored it' }).click();
      await page
        .getByRole('row', { name: new RegExp(next.slice(-4)) })
        .getByRole('button', { name: 'Revoke' })
        .click();
      await page.getByRole('button', { name: 'Revoke the key' }).click();
      await page.getByText(/^revoked /).waitFor();
      expect((await parley.call('/models', bearer(next))).status).toBe(401);
      await fill(page, 'End the trial', {}, 'End it now');
      await page.getByText('ended', { exact: true }).waitFor();
      expect(complaints).toEqual([]);
    });

    it('limits, renames, suspends, resumes and deletes an account', async () => {
      const secret = await parley.newKey({ credits: '1' });
      const { page, complaints } = await open('/accounts/account-2');
      const status = async () => (await parley.call('/models', bearer(secret))).status;
      await fill(page, 'Limits', { 'Credits per month': '20', Models: 'eliza' }, 'Set the limits');
      const limits = page.getByRole('region', { name: 'Limits' });
      await limits.getByText('0.00 of 20.00 credits').waitFor();
      await fill(page, 'Limits', { 'Credits per month': '' }, 'Set the limits');
      await limits.getByText('0.00 of 20.00 credits').waitFor({ state: 'detached' });
      expect(await limits.textContent()).toContain('eliza');
      // Another operator changes them while this page is open.
      const changed = JSON.stringify({ limits: { models: ['eliza'], tokens_per_minute: 9000 } });
      await administer('/accounts/account-2/limits', changed);
      await fill(page, 'Limits', { 'Requests per minute': '60' }, 'Set the limits');
      await limits.getByText('60', { exact: true }).waitFor();
      await limits.getByText('9,000').waitFor();
      await page.getByRole('button', { name: 'Limits account-2' }).click();
      await page.getByRole('dialog').getByLabel('Requests per minute').fill('7');
      // The key is looked at before its list has come back.
      const looked = Promise.withResolvers<void>();
      await page.route('**/ListKeys', async (route) => {
        await looked.promise;
        await route.continue();
      });
      await page.getByRole('dialog').getByRole('button', { name: 'Set the limits' }).click();
      await page.getByRole('button', { name: 'account-2', exact: true }).click();
      await page.getByRole('dialog').getByText('Last used').waitFor();
      looked.resolve();
      await page.getByRole('dialog').getByText('Requests per minute').waitFor();
      await page.keyboard.press('Escape');
      await fill(page, 'Rename', { Name: 'account-1' }, 'Rename it');
      await page.getByRole('dialog').getByRole('alert').getByText('account-1').waitFor();
      await page.getByRole('dialog').getByLabel('Name').fill('Grey Harbour');
      await page.getByRole('dialog').getByRole('button', { name: 'Rename it' }).click();
      await page.getByRole('heading', { name: 'Grey Harbour' }).waitFor();
      // The address has the id, which stays.
      await expect.poll(() => page.url()).toContain('/accounts/acc_');
      const address = page.url();
      await pressAction(page, 'Suspend');
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      // The focus is where the action was chosen.
      expect(await page.evaluate('document.activeElement?.textContent')).toBe('More actions');
      expect(await status()).toBe(200);
      await fill(page, 'Suspend', {}, 'Suspend it');
      await page.getByText('Suspended since').waitFor();
      expect(await status()).toBe(403);
      await fill(page, 'Resume', {}, 'Resume it');
      await page.getByText('Suspended since').waitFor({ state: 'detached' });
      expect(await status()).toBe(200);
      await fill(page, 'Delete', { 'Type Grey Harbour': 'Grey' }, 'Delete it for good');
      await page.getByRole('dialog').getByRole('alert').getByText('This is not Grey Harbour.').waitFor();
      await page.getByRole('dialog').getByLabel('Type Grey Harbour').fill('Grey Harbour');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete it for good' }).click();
      await page.getByRole('heading', { name: 'Accounts', exact: true }).waitFor();
      expect(await status()).toBe(401);
      await page.goto(address);
      await page.getByText('Deleted on').waitFor();
      await page.getByText(/^revoked /).waitFor();
      await page.getByRole('cell', { name: 'load' }).waitFor();
      expect(await page.getByRole('heading', { name: 'Alerts' }).count()).toBe(0);
      expect(
        await page
          .locator('main')
          .getByRole('button', { name: /^New|Limits|Rotate/ })
          .count(),
      ).toBe(0);
      expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    });

    it('sees the refusal in the dialog', async () => {
      const { page } = await open('/accounts/account-1');
      await fill(
        page,
        'Correct the balance',
        { Credits: '-1000', Reason: 'Far too much' },
        'Enter the correction',
      );
      await expect
        .poll(() => page.getByRole('dialog').getByRole('alert').textContent())
        .toContain('10 credits');
      await page.keyboard.press('Escape');
      await fill(page, 'Load credits', { Credits: 'ten', Reason: 'Words' }, 'Load');
      await expect.poll(() => page.getByRole('dialog').getByRole('alert').textContent()).toContain('amount');
    });

    it('finds accounts by a part of their name, and sees their usage', async () => {
      await (await parley.call('/models')).text();
      await (await parley.postJson('/audio/speech', { model: 'flite', input: 'Hello.' })).arrayBuffer();
      const { page } = await open('/accounts');
      await page.getByPlaceholder('Find by name').fill('COUNT-1');
      await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
      await page.getByRole('link', { name: 'account-1' }).click();
      await page.locator('main').getByRole('link', { name: 'Usage' }).click();
      await expect.poll(() => page.url()).toContain('/console/usage?account=acc_');
      await page
        .getByRole('region', { name: 'Requests as a table' })
        .getByText('account-1')
        .first()
        .waitFor();
      await page.goto(`${new URL(parley.baseUrl).origin}/console/accounts?name=nobody`);
      await page.getByText('No account matches.').waitFor();
    });

    it('pages through many accounts', async () => {
      for (let count = 0; count < 60; count++) {
        const body = JSON.stringify({ name: `Many ${count}` });
        await administer('/accounts', body);
      }
      const { page } = await open('/accounts?name=Many');
      await expect.poll(() => page.locator('tbody tr').count()).toBe(50);
      await page.getByRole('button', { name: 'Load more' }).click();
      await expect.poll(() => page.locator('tbody tr').count()).toBe(60);
      expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0);
      await page.getByText(/^60 accounts with 0(\.00)? credits\.$/).waitFor();
    });

    it('sorts accounts, and shows those of a state', async () => {
      const { page } = await open('/accounts');
      await page.getByLabel('Order').selectOption('Most credits first');
      await expect.poll(() => page.locator('tbody th').first().textContent()).toContain('account-1');
      await page.getByLabel('State', { exact: true }).selectOption('Suspended');
      await page.getByText('No account matches.').waitFor();
      expect(page.url()).toContain('state=suspended');
      await page.getByLabel('State', { exact: true }).selectOption('All states');
      const head = (name: string) => page.getByRole('columnheader', { name, exact: true });
      await expect.poll(() => head('Credits').getAttribute('aria-sort')).toBe('descending');
      for (const [name, order, direction] of [
        ['Name', 'name', 'ascending'],
        ['Made', 'created_desc', 'descending'],
        ['Made', 'created', 'ascending'],
        ['Last used', 'last_used', 'descending'],
      ] as const) {
        await head(name).getByRole('button').click();
        await expect.poll(() => head(name).getAttribute('aria-sort')).toBe(direction);
        const answer = await parley.call(
          `/admin/accounts?order_by=${order}&page_size=50`,
          bearer(parley.adminKey),
        );
        const { accounts } = (await answer.json()) as { accounts: { name: string }[] };
        const names = accounts.map((account) => account.name);
        await expect.poll(() => page.locator('tbody th a').allTextContents()).toEqual(names);
      }
    });

    it('sees engines, models, findings and settings without secrets', async () => {
      const { page } = await open('/server');
      await page.getByRole('region', { name: 'Engines' }).getByText('0 of 96').waitFor();
      await page.getByRole('button', { name: 'Check the server' }).click();
      for (const area of ['engine builtin', 'database, schema', 'data folder, free space', 'clock'])
        await page.locator('.findings').getByText(area).first().waitFor();
      await page.getByPlaceholder('Find a setting').fill('drainms');
      await expect
        .poll(() => page.getByRole('region', { name: 'Settings' }).last().locator('tbody tr').count())
        .toBe(1);
      await page.getByPlaceholder('Find a setting').fill('');
      expect(await page.locator('main').textContent()).not.toContain(parley.adminKey);
    });

    it('sees the models as holders do, with their engines and states, and does not hear them', async () => {
      // All columns fit.
      const wide = { viewport: { width: 1800, height: 900 } };
      const shown = (key: string) => openSignedIn(browser, parley, key, '/console/models', wide);
      const operator = (await shown(parley.adminKey)).page;
      const holder = (await shown(parley.apiKey)).page;
      const shownTo = async (page: Page) => {
        const table = page.getByRole('region', { name: 'Models' });
        const textsOf = (tag: string) => table.locator(tag).allTextContents();
        return { heads: await textsOf('thead th'), rows: await textsOf('tbody tr') };
      };
      const [all, own] = [await shownTo(operator), await shownTo(holder)];
      expect(all.heads).toEqual([...own.heads, 'Engines', 'State']);
      expect(all.rows).toEqual(own.rows.map((row) => expect.stringMatching(`^${row}.*builtinavailable$`)));
      expect(all.rows.join()).toMatch(/elizachat0\.10\.10\.10\.4/);
      const voicesOf = async (page: Page) => {
        await page.getByRole('link', { name: 'flite' }).click();
        const voices = page.getByRole('dialog').getByRole('region', { name: 'Voices' });
        await page.getByRole('dialog').getByText('/audio/speech').first().waitFor();
        return voices;
      };
      const heard = await voicesOf(holder);
      await heard.getByRole('button', { name: 'Hear rms' }).click();
      await holder.getByLabel('The voice rms').waitFor();
      const seen = await voicesOf(operator);
      expect(await seen.getByRole('listitem').count()).toBe(await heard.getByRole('listitem').count());
      expect(await seen.getByRole('button').count()).toBe(0);
    });

    it('creates and revokes admin keys, and finds each change in the audit trail', async () => {
      const { page } = await open('/keys');
      await fill(page, 'New admin key', { Name: 'Night shift' }, 'Create the key');
      const secret = await page.getByRole('dialog').getByLabel('The new key').inputValue();
      await page.getByRole('dialog').getByRole('button', { name: 'I have stored it' }).click();
      const own = await openSignedIn(browser, parley, secret);
      await page.getByRole('button', { name: 'Revoke Night shift' }).click();
      await page.getByRole('button', { name: 'Revoke the key' }).click();
      await page.getByText(/^revoked /).waitFor();
      await own.page.getByRole('link', { name: 'Audit' }).click();
      await expect.poll(() => own.page.getByRole('alert').textContent()).toContain('Your session has ended.');
      await page.getByRole('link', { name: 'Audit' }).click();
      await page.getByRole('cell', { name: 'key.revoke' }).first().waitFor();
      await page
        .getByRole('cell', { name: /Night shift/ })
        .first()
        .waitFor();
      await page.getByLabel('Search').fill('key.REVOKE');
      const rows = page.getByRole('region', { name: 'Audit trail' }).locator('tbody tr');
      await expect.poll(() => rows.filter({ hasNotText: 'key.revoke' }).count()).toBe(0);
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Save as CSV' }).click(),
      ]);
      const lines = readFileSync((await saved.path()) ?? '', 'utf8')
        .trim()
        .split('\r\n');
      expect(lines).toHaveLength(1 + (await rows.count()));
      expect(lines[0]).toBe('id,created_at,actor,action,target,details');
      expect(lines[1]).toMatch(/^aud_\w+,\d{4}-\S+Z,\w+,key\.revoke,key_/);
      await page.getByLabel('To (UTC)').fill('2001-01-01');
      await page.getByText('No change matches.').waitFor();
      await page.getByLabel('To (UTC)').fill('');
      await rows.first().getByRole('button').first().click();
      await page.getByRole('button', { name: 'Changes by all' }).click();
      await page.getByLabel('Search').fill('');
      await expect.poll(() => rows.filter({ hasNotText: 'key.revoke' }).count()).toBeGreaterThan(0);
      expect(await violations(page)).toEqual([]);
    });

    it('gives an admin key scopes, and shows it only the pages and actions of these', async () => {
      const { page } = await open('/keys');
      await page.getByRole('button', { name: 'New admin key', exact: true }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('Desk');
      for (const scope of ['accounts:read', 'credits:load']) await dialog.getByLabel(scope).check();
      await dialog.getByRole('button', { name: 'Create the key' }).click();
      const secret = await dialog.getByLabel('The new key').inputValue();
      await dialog.getByRole('button', { name: 'I have stored it' }).click();
      await page.getByRole('cell', { name: 'accounts:read, credits:load' }).waitFor();
      const desk = await openSignedIn(browser, parley, secret, '/console');
      await desk.page.getByText('Your key may do: accounts:read, credits:load.').waitFor();
      const links = await desk.page.getByRole('navigation').getByRole('link').allTextContents();
      expect(links.map((text) => text.trim())).toEqual(['Overview', 'Accounts', 'Reference']);
      await desk.page.goto(`${new URL(parley.baseUrl).origin}/console/accounts/account-1`);
      await desk.page.getByRole('button', { name: 'Load credits' }).waitFor();
      await desk.page.getByText('More actions').click();
      expect(await desk.page.locator('.actions').getByRole('button').allTextContents()).toEqual([
        'Load credits',
        'Correct the balance',
      ]);
      expect(await desk.page.getByRole('heading', { level: 2 }).allTextContents()).not.toContain('Keys');
    });
  },
);
