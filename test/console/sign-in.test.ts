/** Sign-in with a real identity provider in a real browser. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { launchBrowser, missingBrowser, openConsole, settled } from '../support/console-browser.ts';
import { startWithProvider, type WithProvider } from '../support/identity-provider.ts';

let browser: Browser;
let parley: WithProvider;

beforeAll(async () => {
  if (missingBrowser !== undefined) return;
  browser = await launchBrowser();
  parley = await startWithProvider({ pages: new Map(Object.entries(await consoleFiles())) });
});
afterAll(async () => {
  if (missingBrowser !== undefined) return;
  await browser.close();
  await parley.close();
});

async function signIn(name: string) {
  const { page } = await openConsole(browser, parley);
  await page.getByRole('link', { name: 'Sign in with Test Login' }).click();
  await page.locator('input[name=login]').fill(name);
  await page.locator('input[name=password]').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.waitForURL(/\/console(\?.*)?$/);
  return page;
}

describe.skipIf(missingBrowser !== undefined)('signing in with an identity provider', () => {
  it('shows a person the pages of their role, and signs them out', async () => {
    const page = await signIn('otto');
    await settled(page);
    await page.getByText('otto@example.com').waitFor();
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('otto@example.com (otto)').first().waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: 'Sign in with Test Login' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Sign in with Test Login' }).waitFor();
  });

  it('shows an operator who changes nothing only what they may read', async () => {
    const page = await signIn('rita');
    await settled(page);
    await page.getByRole('link', { name: 'Accounts' }).click();
    await page.getByRole('link', { name: 'account-1' }).waitFor();
    expect(await page.getByRole('link', { name: 'Admin keys' }).count()).toBe(0);
    expect(await page.getByRole('button', { name: /new account/i }).count()).toBe(0);
    await page.getByRole('link', { name: 'account-1' }).click();
    await page.getByRole('heading', { name: 'Alerts', exact: true }).waitFor();
    await page.getByText('No alerts are raised.').first().waitFor();
    expect(await page.getByRole('button', { name: 'Set up alerts' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Audit' }).click();
    await page.getByText('rita@example.com (rita)').first().waitFor();
    await page.getByRole('link', { name: 'Server' }).click();
    await page.getByRole('heading', { name: 'Engines' }).waitFor();
    await page.getByText('First output and failures').waitFor();
    expect(await page.getByRole('button', { name: /load$/i }).count()).toBe(1);
  });

  it('tells a person without a rule that they have no access', async () => {
    const page = await signIn('nobody');
    await page.getByText('You have no access to this console.').waitFor();
  });
});
