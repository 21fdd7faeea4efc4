/** An operator invites people, whose link opens the console in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { violations } from '../support/axe-violations.ts';
import { openConsole, openSignedIn, signIn } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';

const narrow = { viewport: { width: 390, height: 844 } };
let browser: Browser;
let parley: Parley;

/** Fills the open form in, and returns the path of the link with its secret. */
async function linkFor(page: Page, name: string): Promise<string> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByRole('button', { name: 'Make the link' }).click();
  const url = await dialog.getByLabel('The invitation').inputValue();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  return url.slice(new URL(parley.baseUrl).origin.length);
}

inBrowser(
  'an invitation',
  async (opened) => {
    browser = opened.browser;
    parley = await startParley({ pages: opened.pages });
    opened.atEnd(() => parley.close());
  },
  () => {
    it('signs a holder in with a key of their own, on a phone, by the keyboard', async () => {
      const { page, complaints } = await openSignedIn(
        browser,
        parley,
        parley.adminKey,
        '/console/accounts/account-1',
      );
      await page.getByRole('button', { name: 'Invite a person' }).click();
      await page.getByRole('dialog').getByLabel('manage').check();
      expect(await violations(page)).toEqual([]);
      const path = await linkFor(page, 'Ada');
      const row = page.getByRole('row', { name: /^Ada/ });
      await row.getByText('invitation, expires in 7 days').waitFor();
      expect(await row.getByRole('button').allTextContents()).toEqual(['Ada', 'Limits', 'Revoke']);
      expect(complaints).toEqual([]);

      const asked: string[] = [];
      const invited = await openConsole(browser, parley, '/console', narrow);
      invited.page.on('request', (request) => asked.push(`${request.url()} ${request.headers()['referer']}`));
      await invited.page.goto(`${new URL(parley.baseUrl).origin}${path}`);
      const accept = invited.page.getByRole('button', { name: 'Accept the invitation' });
      await accept.waitFor();
      // No address that the browser asks for or keeps has the secret.
      expect(invited.page.url()).toBe(`${new URL(parley.baseUrl).origin}/console/invitation`);
      expect(await violations(invited.page)).toEqual([]);
      await accept.focus();
      await invited.page.keyboard.press('Enter');
      const secret = await invited.page.getByLabel('Your key').inputValue();
      expect(secret).toMatch(/^pk_/);
      expect(await violations(invited.page)).toEqual([]);
      expect(await invited.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      await invited.page.getByRole('button', { name: 'I have stored it' }).click();
      await invited.page.getByRole('heading', { name: 'account-1' }).waitFor();
      await invited.page.reload();
      await invited.page.getByRole('heading', { name: 'account-1' }).waitFor();
      expect(asked.join()).not.toContain(path.replace(/^.*#/, ''));
      expect((await parley.call('/models', bearer(secret))).status).toBe(200);

      expect(invited.complaints).toEqual([]);

      const again = await openConsole(browser, parley, path);
      await again.page.getByRole('button', { name: 'Accept the invitation' }).click();
      await again.page.getByRole('alert').getByText('was used').waitFor();
      await again.page.reload();
      await again.page.getByText('Open the link of your invitation again').waitFor();
      await again.page.goto(`${new URL(parley.baseUrl).origin}/console`);
      await signIn(again.page, secret);
      await again.page.getByRole('heading', { name: 'account-1' }).waitFor();
    });

    it('signs an operator in with what the inviting one chose', async () => {
      const { page } = await openSignedIn(browser, parley, parley.adminKey, '/console/keys');
      await page.getByRole('button', { name: 'Invite a person' }).click();
      await page.getByRole('dialog').getByLabel('accounts:read').check();
      const path = await linkFor(page, 'Ben');
      const invited = await openConsole(browser, parley, path);
      await invited.page.getByRole('button', { name: 'Accept the invitation' }).click();
      await invited.page.getByRole('button', { name: 'I have stored it' }).click();
      await invited.page.getByText('Your key may do: accounts:read.').waitFor();
    });

    it('cannot be mailed where the server sends no mail, and can be revoked', async () => {
      const { page } = await openSignedIn(browser, parley, parley.adminKey, '/console/accounts/account-1');
      await page.getByRole('button', { name: 'Invite a person' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('Eve');
      await dialog.getByLabel('Mail it to').fill('eve@example.org');
      await dialog.getByRole('button', { name: 'Make the link' }).click();
      await dialog.getByRole('alert').getByText('This server sends no mail').waitFor();
      await dialog.getByLabel('Mail it to').fill('');
      const path = await linkFor(page, 'Eve');
      await page.getByRole('button', { name: 'Revoke Eve' }).click();
      await page.getByRole('button', { name: 'Revoke the key' }).click();
      await page.getByRole('row', { name: /^Eve/ }).getByText('revoked').waitFor();
      const invited = await openConsole(browser, parley, path);
      await invited.page.getByRole('button', { name: 'Accept the invitation' }).click();
      await invited.page.getByRole('alert').getByText('was revoked').waitFor();
    });
  },
);
