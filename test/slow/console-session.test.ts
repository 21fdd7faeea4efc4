/** Sessions of the console in a real browser: signing in, expiry, revocation, a server that stops. */

import type { Browser } from 'playwright-core';
import { expect, it } from 'vitest';
import { sessionIdleMs } from '../../src/core/access/sessions.ts';
import { openConsole, openSignedIn, signIn } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { type Parley, startParley, TestClock } from '../support/parley.ts';

let browser: Browser;
let parley: Parley;
let pages: ReadonlyMap<string, Buffer>;
const clock = new TestClock(Date.now());

/** Another key of the account, and a function that revokes it. */
async function spareKey(): Promise<{ secret: string; revoke: () => Promise<unknown> }> {
  const made = await parley.admin('/accounts/account-1/keys', { name: 'spare' });
  const { key, secret } = (await made.json()) as { key: { id: string }; secret: string };
  return { secret, revoke: () => parley.admin(`/keys/${key.id}/revoke`, {}) };
}

inBrowser(
  'a session of the console',
  async (opened) => {
    pages = opened.pages;
    browser = opened.browser;
    parley = await startParley({ pages, clock });
    opened.atEnd(() => parley.close());
  },
  () => {
    it('begins with a key that is pasted with its header', async () => {
      const { page } = await openConsole(browser, parley);
      await signIn(page, ` Bearer ${parley.apiKey} `);
    });

    it('begins with a key, stays over a reload, and ends by signing out', async () => {
      const { page, complaints } = await openSignedIn(browser, parley, parley.apiKey);
      await page.getByRole('heading', { name: 'account-1' }).waitFor();
      await page.reload();
      await page.getByRole('heading', { name: 'account-1' }).waitFor();
      // No script can read the cookie.
      expect(await page.evaluate('document.cookie')).toBe('');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key or admin key').waitFor();
      await page.reload();
      await page.getByLabel('API key or admin key').waitFor();
      expect(complaints).toEqual([]);
    });

    it('does not begin with a wrong key, and says why', async () => {
      const { page } = await openConsole(browser, parley);
      await page.getByLabel('API key or admin key').fill('pk_wrong');
      await page.keyboard.press('Enter');
      await expect
        .poll(() => page.getByRole('alert').textContent())
        .toBe('This key is unknown, expired or revoked.');
      expect(await page.getByLabel('API key or admin key').getAttribute('aria-invalid')).toBe('true');
      await signIn(page, parley.apiKey);
    });

    it('does not begin without a key', async () => {
      const { page } = await openConsole(browser, parley);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await expect.poll(() => page.getByRole('alert').textContent()).toBe('Enter a key.');
    });

    it('keeps the requested page', async () => {
      const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console/credits');
      await page.getByRole('heading', { name: 'Credits' }).first().waitFor();
      expect(new URL(page.url()).pathname).toBe('/console/credits');
    });

    it('ends after half an hour without use', async () => {
      const { page } = await openSignedIn(browser, parley, parley.apiKey);
      clock.nowMs += sessionIdleMs + 1;
      await page.getByRole('link', { name: 'Credits' }).click();
      await expect
        .poll(() => page.getByRole('alert').textContent())
        .toBe('Your session has ended. Sign in again.');
      await signIn(page, parley.apiKey);
      await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    });

    it('ends while it is used if its key is revoked', async () => {
      const { secret, revoke } = await spareKey();
      const { page } = await openSignedIn(browser, parley, secret);
      await revoke();
      await page.getByRole('link', { name: 'Usage', exact: true }).click();
      await expect.poll(() => page.getByRole('alert').textContent()).toContain('Your session has ended.');
      await page.getByLabel('API key or admin key').fill(secret);
      await page.keyboard.press('Enter');
      await expect
        .poll(() => page.getByRole('alert').textContent())
        .toBe('This key is unknown, expired or revoked.');
    });

    it('has no pages of operators for a holder, and none of holders for an operator', async () => {
      const holder = await openSignedIn(browser, parley, parley.apiKey, '/console/accounts');
      await holder.page.getByRole('heading', { name: 'Not found' }).waitFor();
      const operator = await openSignedIn(browser, parley, parley.adminKey, '/console/credits');
      await operator.page.getByRole('heading', { name: 'Not found' }).waitFor();
    });

    it('says that the key has no right, if it has none', async () => {
      const key = await parley.newKey({ scopes: ['speech'] });
      const { page } = await openSignedIn(browser, parley, key, '/console/playground');
      await page.getByText('Your key cannot call any model for this: Chat.').waitFor();
    });

    it('survives a server that stops, and continues when it is back', async () => {
      const { page } = await openSignedIn(browser, parley, parley.apiKey);
      await page.context().setOffline(true);
      await page.getByRole('link', { name: 'Credits' }).click();
      await page.getByText('The server cannot be reached. This page continues when it answers.').waitFor();
      await page.getByRole('button', { name: 'Try again' }).first().waitFor();
      await page.context().setOffline(false);
      await page.getByRole('heading', { name: 'Ledger' }).waitFor();
      await page.getByRole('cell', { name: 'load' }).waitFor();
      await expect.poll(() => page.getByText('This page continues').count()).toBe(0);
    });

    it('can be started again if the server was unreachable from the start', async () => {
      const { page } = await openConsole(browser, parley);
      await page.context().setOffline(true);
      await page.getByLabel('API key or admin key').fill(parley.apiKey);
      await page.keyboard.press('Enter');
      await expect
        .poll(() => page.getByRole('alert').textContent())
        .toBe('The server cannot be reached. Try again.');
      await page.context().setOffline(false);
      await signIn(page, parley.apiKey);
    });

    it('belongs to one port, if administration has another', async () => {
      const two = await startParley({ pages, settings: { admin: { port: 0 } } });
      const { page } = await openConsole(browser, two);
      await page.getByLabel('API key or admin key').fill(two.adminKey);
      await page.keyboard.press('Enter');
      await expect.poll(() => page.getByRole('alert').textContent()).toContain('port for administration');
      await page.goto(`${new URL(two.app.adminBaseUrl).origin}/console`);
      await signIn(page, two.adminKey);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      await two.close();
    });
  },
);
