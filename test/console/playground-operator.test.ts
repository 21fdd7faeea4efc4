/** An operator tries models in a real browser, as an account. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { violations } from '../support/axe-violations.ts';
import { answerOf, send } from '../support/chat-page.ts';
import { launchBrowser, missingBrowser, openSignedIn, settled } from '../support/console-browser.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';

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

interface ListedKey {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly expires_at?: string;
  readonly revoked_at?: string;
}

const name = 'playground of the console';
const admin = async (path: string, init = {}) =>
  (await fetch(`${parley.baseUrl}/admin${path}`, { ...bearer(parley.adminKey), ...init })).json();
/** The newest key of the playground. */
const playKey = async (): Promise<ListedKey | undefined> => {
  const { keys } = (await admin('/accounts/account-1/keys')) as { keys: readonly ListedKey[] };
  return keys.filter((key) => key.name === name).at(-1);
};

async function play(page: Page): Promise<void> {
  await page.getByRole('combobox', { name: 'Account' }).fill('account-1');
  await page.keyboard.press('Enter');
  await page.getByText('You play as account-1').waitFor();
  await settled(page);
}

const open = (options = {}) => openSignedIn(browser, parley, parley.adminKey, '/console/playground', options);

describe.skipIf(missingBrowser !== undefined)(
  `the playground of an operator${missingBrowser === undefined ? '' : ` (${missingBrowser})`}`,
  () => {
    it('plays with a key of the account, which ends within the hour or when the operator stops', async () => {
      const { page, complaints } = await open();
      await play(page);
      const key = await playKey();
      expect(key?.scopes).toEqual(['speech', 'transcription', 'chat']);
      const leftMs = Date.parse(key?.expires_at ?? '') - Date.now();
      expect(leftMs).toBeGreaterThan(0);
      expect(leftMs).toBeLessThanOrEqual(3_600_000);
      await send(page, 'I am here.');
      await answerOf(page, 'eliza').getByText('credits').waitFor();
      const { records } = await parley.books();
      expect(records.find(({ operation }) => operation === 'chat')?.owners[1]).toBe(key?.id);
      await page.getByRole('link', { name: 'Speech' }).click();
      await page.getByRole('button', { name: 'Speak' }).click();
      await page.getByText('to the first byte').waitFor();
      await page.getByRole('link', { name: 'Live' }).click();
      await page.getByRole('button', { name: 'Start' }).click();
      await page.getByText('Listening').waitFor();
      await page.getByRole('button', { name: 'Stop', exact: true }).click();
      await page.getByRole('link', { name: 'Audit' }).click();
      await page.getByText(`name: ${name}`).first().waitFor();
      await page.getByRole('link', { name: 'Playground', exact: true }).click();
      await page.getByRole('button', { name: 'Stop playing' }).click();
      await expect.poll(async () => (await playKey())?.revoked_at).toBeDefined();
      expect(complaints).toEqual([]);
    });

    it('goes on after the key was revoked, with a new one', async () => {
      const { page } = await open();
      await play(page);
      await admin(`/keys/${(await playKey())?.id}/revoke`, { method: 'POST', body: '{}' });
      await send(page, 'I am here.');
      await page.getByText('The key has ended.').waitFor();
      await play(page);
      await send(page, 'I am back.');
      await answerOf(page, 'eliza').getByText('in total').waitFor();
    });

    it('says which account is unknown, and finds accounts by a part of the name', async () => {
      const { page } = await open();
      const field = page.getByRole('combobox', { name: 'Account' });
      await field.fill('count-1');
      await page.locator('datalist option[value="account-1"]').waitFor({ state: 'attached' });
      await page.keyboard.press('Enter');
      await page.getByRole('alert').filter({ hasText: 'count-1' }).waitFor();
    });

    it('has no fault that axe finds, in both themes and on a phone', async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        const { page } = await open({ colorScheme, viewport: { width: 320, height: 700 } });
        expect(await violations(page)).toEqual([]);
        await play(page);
        expect(await violations(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
      }
    });
  },
);
