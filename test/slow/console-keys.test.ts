/** The holder of an account manages its keys and sees its limits, in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { openSignedIn, withClipboard } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { type LimitedParley, limitedKey, startLimited } from '../support/limited-parley.ts';
import { bearer, TestClock } from '../support/parley.ts';

let browser: Browser;
let parley: LimitedParley;

async function administer(path: string, body: object): Promise<{ secret: string }> {
  const answer = await parley.admin(path, body);
  expect(answer.status).toBe(200);
  return (await answer.json()) as { secret: string };
}

/** Makes a key of the account, and opens a page with it. */
async function openWith(path: string, facts: { scopes: string[]; limits?: object }) {
  const { secret } = await administer('/accounts/account-1/keys', { name: 'Desk', ...facts });
  return { secret, ...(await openSignedIn(browser, parley, secret, `/console${path}`, withClipboard)) };
}

const statusOf = async (secret: string) => (await parley.call('/models', bearer(secret))).status;

/** Submits the open dialog. */
const submit = (page: Page, button: string) =>
  page.getByRole('dialog').getByRole('button', { name: button }).click();

/** The secret that the open dialog shows. */
const shownSecret = (page: Page) => page.getByRole('dialog').getByLabel('The new key').inputValue();

const focused = (page: Page) => page.evaluate<string>('document.activeElement?.ariaLabel');

/** Delays the next call of an RPC until `answer` is called. */
async function holdCall(page: Page, rpc: string) {
  const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await page.route(`**/*/${rpc}`, async (route) => {
    asked.resolve();
    await answered.promise;
    await route.continue();
  });
  return { asked: asked.promise, answer: answered.resolve };
}

const rowOf = (page: Page, secret: string) => page.getByRole('row', { name: `…${secret.slice(-4)}` });

inBrowser(
  'a holder with limits',
  async (opened) => {
    browser = opened.browser;
    const { pages } = opened;
    parley = await startLimited({ pages, clock: new TestClock(Date.now()) });
    opened.atEnd(() => parley.close());
  },
  () => {
    it('creates, limits, rotates and revokes keys, and sees a refusal at its field', async () => {
      const { page, complaints } = await openWith('/keys', {
        scopes: ['chat', 'manage'],
        limits: { models: ['m'] },
      });
      await page.getByRole('button', { name: 'New key' }).click();
      const dialog = page.getByRole('dialog');
      await expect.poll(() => page.evaluate('document.activeElement?.name')).toBe('name');
      await dialog.getByLabel('Name').fill('App');
      await dialog.getByText('Limits', { exact: true }).click();
      await dialog.getByText('An empty field is copied from the key of this session.').waitFor();
      expect(await dialog.getByLabel('Models').getAttribute('placeholder')).toBe('m');
      await dialog.getByLabel('Credits per day').fill('3');
      await dialog.getByLabel('Models').fill('m\nfree-1');
      await submit(page, 'Create the key');
      await dialog.getByRole('alert').getByText('cannot give a wider limit `models`').waitFor();
      const refused = dialog.getByLabel('Models');
      expect(await refused.getAttribute('aria-invalid')).toBe('true');
      expect(await dialog.getByLabel('Name').inputValue()).toBe('App');
      await refused.fill('');
      await submit(page, 'Create the key');
      const first = await shownSecret(page);
      // It is not lost by a slip.
      for (let times = 0; times < 3; times++) await page.keyboard.press('Escape');
      await dialog.getByRole('button', { name: 'Close', disabled: true }).click({ force: true });
      expect(await shownSecret(page)).toBe(first);
      await dialog.getByRole('button', { name: 'Copy' }).click();
      await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe(first);
      expect((await limitedKey(parley, '', first).chat(2)).status).toBe(200);
      await page.keyboard.press('Escape');
      await rowOf(page, first).getByText('2.00 of 3.00 credits').waitFor();
      expect(await rowOf(page, first).textContent()).not.toContain('never');
      await page.getByRole('button', { name: 'Limits App' }).click();
      // This field was empty when the key was created.
      expect(await dialog.getByLabel('Models').inputValue()).toBe('m');
      await dialog.getByLabel('Credits per day').fill('10');
      await submit(page, 'Set the limits');
      await rowOf(page, first).getByText('2.00 of 10.00 credits').waitFor();
      await expect.poll(() => focused(page)).toBe('Limits App');
      await page.getByRole('button', { name: 'Rotate App' }).click();
      const { asked, answer } = await holdCall(page, 'RotateKey');
      await submit(page, 'Create the new key');
      await asked;
      // The answer has a secret, so that nothing closes the dialog before the answer.
      for (let times = 0; times < 3; times++) await page.keyboard.press('Escape');
      await dialog.getByRole('button', { name: 'Close', disabled: true }).click({ force: true });
      await dialog.getByRole('button', { name: 'One moment…' }).waitFor();
      answer();
      await dialog.getByRole('heading', { name: 'The new key App' }).waitFor();
      const second = await shownSecret(page);
      expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200]);
      await submit(page, 'I have stored it');
      await dialog.waitFor({ state: 'detached' });
      await expect.poll(() => focused(page)).toBe('Rotate App');
      await rowOf(page, first).getByText('expires').waitFor();
      await rowOf(page, second).getByRole('button', { name: 'Revoke' }).click();
      await submit(page, 'Revoke the key');
      await rowOf(page, second)
        .getByText(/^revoked /)
        .waitFor();
      expect([await statusOf(first), await statusOf(second)]).toEqual([200, 401]);
      expect(complaints.filter((text) => !text.includes('403'))).toEqual([]);
    });

    it('sees the secret of the new key before the session of the old one ends', async () => {
      const { page, secret } = await openWith('/keys', { scopes: ['chat', 'manage'] });
      await rowOf(page, secret).getByRole('button', { name: 'Rotate' }).click();
      await page.getByRole('dialog').getByLabel('The old key ends').selectOption('at once');
      await submit(page, 'Create the new key');
      const next = await shownSecret(page);
      expect([await statusOf(secret), await statusOf(next)]).toEqual([401, 200]);
      await submit(page, 'I have stored it');
      await page.getByRole('alert').getByText('Your session has ended.').waitFor();
    });

    it('without the scope `manage` sees their own key with its limits, and that the scope is missing', async () => {
      const limits = { models: ['voice', 'free-*'], requests_per_minute: 5, characters_per_day: 1000 };
      const { page, secret, complaints } = await openWith('/keys', { scopes: ['speech'], limits });
      await (await limitedKey(parley, '', secret).speak('Hello')).arrayBuffer();
      await page.reload();
      await page.getByText('5 of 1,000').waitFor();
      await page.getByText('voice, free-*').waitFor();
      await page.getByText('sign in with a key that has the scope manage').waitFor();
      expect(await page.getByRole('button', { name: /key|Limits|Rotate|Revoke/ }).count()).toBe(0);
      expect(complaints).toEqual([]);
    });

    it('sees which budget is used up, and that the account is suspended', async () => {
      const facts = { scopes: ['chat'], limits: { budgets: { month: '4' } } };
      await parley.setAccountLimits({ budgets: { day: '5' } });
      const { page, secret } = await openWith('', facts);
      await page.getByText('0.00 of 4.00 credits').waitFor();
      expect(await page.getByText('is used up').count()).toBe(0);
      expect((await limitedKey(parley, '', secret).chat(4)).status).toBe(200);
      await page.reload();
      await page.getByText('The budget for the month of this key is used up.').waitFor();
      await page.getByText(/Chats are refused until it starts again in .*\. Ask the operator/).waitFor();
      await page.getByText('The budget for the day of your account is 80% used.').waitFor();
      await page.getByRole('region', { name: 'Limits of your account' }).getByText('4.00 of 5.00').waitFor();
      await administer('/accounts/account-1/suspend', {});
      await page.getByRole('link', { name: 'Credits' }).click();
      await page.getByRole('alert').getByText('The account is suspended.').waitFor();
      await page.reload();
      await page.getByRole('alert').getByText('The account is suspended.').waitFor();
      await administer('/accounts/account-1/resume', {});
      await page.reload();
      await page.getByRole('heading', { name: 'Ledger' }).waitFor();
    });

    it('finds usage by the names of keys, with the key in the address', async () => {
      const { page, secret } = await openWith('/usage?by=key', { scopes: ['chat', 'manage'] });
      const reader = await parley.keyWith({});
      await reader.chat(1, 'free-1');
      await limitedKey(parley, '', secret).chat(1, 'free-1');
      await page.reload();
      const sums = page.getByRole('region', { name: 'Sums as a table' });
      const name = `limited …${reader.secret.slice(-4)}`;
      await sums.getByRole('rowheader', { name: `Desk …${secret.slice(-4)}` }).waitFor();
      await sums.getByRole('rowheader', { name }).waitFor();
      await page.getByLabel('Key', { exact: true }).selectOption(name);
      await expect.poll(() => page.url()).toContain(`key=${reader.id}`);
      await page.reload();
      await expect.poll(() => sums.locator('tbody tr').count()).toBe(1);
      const requests = page.getByRole('region', { name: 'Requests as a table' });
      await requests.locator('tbody').getByRole('button').click();
      await page.getByRole('dialog').getByText(name).waitFor();
      const path = `/console/accounts/account-1`;
      const operator = (await openSignedIn(browser, parley, parley.adminKey, path)).page;
      await rowOf(operator, reader.secret).getByRole('button', { name: 'limited', exact: true }).click();
      await operator.getByRole('link', { name: 'Usage of this key' }).click();
      await operator.getByLabel('Grouped by').selectOption('key');
      await operator.getByRole('rowheader', { name }).waitFor();
    });
  },
);
