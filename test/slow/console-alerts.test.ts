/** The holder of an account and the operator set alerts, in a real browser. */
import type { Browser, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { violations } from '../support/axe-violations.ts';
import { openSignedIn } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { type LimitedParley, startLimited } from '../support/limited-parley.ts';
import { codeIn, type MailServer, startMailServer } from '../support/mail-server.ts';
import { TestClock } from '../support/parley.ts';
import { startReceiver, toReceivers, type WebhookReceiver } from '../support/webhook-receiver.ts';

let browser: Browser;
let parley: LimitedParley;
let receiver: WebhookReceiver;
let mails: MailServer;
const clock = new TestClock(Date.now());

async function newKey(scopes: readonly string[]): Promise<string> {
  const made = await parley.admin('/accounts/account-1/keys', { name: 'Desk', scopes });
  return ((await made.json()) as { secret: string }).secret;
}

const open = (key: string, path: string) => openSignedIn(browser, parley, key, `/console${path}`);
const rowOf = (page: Page, text: string) =>
  page.getByRole('region', { name: 'Alerts' }).getByRole('row').filter({ hasText: text });

inBrowser(
  'alerts',
  async (opened) => {
    browser = opened.browser;
    receiver = await startReceiver();
    opened.atEnd(() => receiver.close());
    mails = await startMailServer();
    opened.atEnd(() => mails.close());
    const { pages } = opened;
    const alerts = {
      ...toReceivers,
      smtp: { host: '127.0.0.1', port: mails.port, tls: 'none', from: 'parley@example.com' },
    };
    parley = await startLimited({ pages, clock, settings: { alerts }, alerts: { intervalMs: 5 } });
    opened.atEnd(() => parley.close());
  },
  () => {
    it('are set up, tested and turned off by a holder, who sees each and its delivery', async () => {
      const { page, complaints } = await open(await newKey(['chat', 'manage']), '/alerts');
      await page.getByRole('button', { name: 'Set up alerts' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('URL').fill('https://10.1.2.3/hook');
      await dialog.getByLabel('Percents').fill('50');
      await dialog.getByRole('button', { name: 'Set the alerts' }).click();
      await dialog.getByRole('alert').getByText('alerts.allowedNetworks').waitFor();
      await dialog.getByLabel('URL').fill(`${receiver.origin}/hook`);
      await dialog.getByRole('button', { name: 'Set the alerts' }).click();
      expect(await dialog.getByLabel('The secret of the webhook').inputValue()).toMatch(/^whsec_/);
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'I have stored it' }).click();
      await page.getByText(`${receiver.origin}/hook`).waitFor();
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByRole('status').getByText('at the first attempt').waitFor();
      await rowOf(page, 'A test').getByText('delivered', { exact: true }).waitFor();
      expect(await violations(page)).toEqual([]);
      expect(receiver.received.map(({ alert }) => alert['type'])).toEqual(['test']);
      await parley.setAccountLimits({ budgets: { day: '2' } });
      const key = await parley.keyWith({});
      expect((await key.chat(1)).status).toBe(200);
      await expect.poll(() => receiver.received.length).toBe(2);
      const budget = rowOf(page, '50% of the budget for the day of the account is used: 1.00 of 2.00');
      await expect
        .poll(async () => {
          await page.getByRole('button', { name: 'Reload' }).click();
          return budget.getByText('delivered', { exact: true }).count();
        })
        .toBe(1);
      await page.getByRole('button', { name: 'Turn alerts off' }).click();
      await dialog.getByRole('button', { name: 'Turn them off' }).click();
      await page.getByText('No alerts are raised.').waitFor();
      expect(complaints.filter((text) => !text.includes('400'))).toEqual([]);
    });

    it('need the scope `manage`', async () => {
      const { page } = await open(await newKey(['chat']), '/alerts');
      await page.getByText('sign in with a key that has the scope manage').waitFor();
      expect(await page.getByRole('button', { name: 'Set up alerts' }).count()).toBe(0);
    });

    it('go by mail, to Slack and to Matrix, as the form is filled in', async () => {
      const { page } = await openSignedIn(browser, parley, parley.adminKey, '/console/accounts/account-1');
      const dialog = page.getByRole('dialog');
      const change = async (kind: string) => {
        await page.getByRole('button', { name: /^(Set up|Change) alerts$/ }).click();
        await dialog.getByLabel('Send alerts by').selectOption(kind);
        expect([kind, await violations(page)]).toEqual([kind, []]);
      };
      const save = async (shown: string) => {
        await dialog.getByRole('button', { name: 'Set the alerts' }).click();
        await page.locator('dl.facts').getByText(shown).waitFor();
        await dialog.waitFor({ state: 'detached' });
      };
      await change('Mail');
      await dialog.getByLabel('Addresses').fill('ops@example.com, desk');
      await dialog.getByRole('button', { name: 'Set the alerts' }).click();
      await dialog.getByRole('alert').getByText('takes at most 5 addresses').waitFor();
      await dialog.getByLabel('Addresses').fill('ops@example.com, desk@example.com');
      await save('desk@example.com, ops@example.com');
      const waiting = page.getByRole('region', { name: 'Addresses that wait for confirmation' });
      const desk = waiting.getByRole('listitem').filter({ hasText: 'desk@example.com' });
      await desk.getByText('waiting for confirmation').waitFor();
      await desk.getByRole('button', { name: 'Send again to desk@example.com' }).click();
      await desk.getByText('within the last minute').waitFor();
      await waiting.getByLabel('Code', { exact: true }).fill('0000-0000-0000');
      await page.keyboard.press('Enter');
      await waiting.getByText('This code is not valid.').waitFor();
      expect(await violations(page)).toEqual([]);
      for (const address of ['desk@example.com', 'ops@example.com']) {
        const mail = mails.received.find(({ to }) => to[0] === address);
        await waiting.getByLabel('Code', { exact: true }).fill(codeIn(mail));
        await page.keyboard.press('Enter');
        await waiting.getByText(address, { exact: true }).waitFor({ state: 'detached' });
      }
      await waiting.waitFor({ state: 'detached' });
      await change('Slack');
      await dialog.getByLabel('URL of the incoming webhook').fill(`${receiver.origin}/services/T0`);
      await save(`${receiver.origin}/services/T0`);
      await change('Matrix');
      await dialog.getByLabel('Homeserver').fill(receiver.origin);
      await dialog.getByLabel('Room').fill('!a:example.com');
      await dialog.getByRole('button', { name: 'Set the alerts' }).click();
      await dialog.getByRole('alert').getByText('A new room needs an access token.').waitFor();
      await dialog.getByLabel('Access token').fill('syt_secret');
      await save('!a:example.com at');
      // The token stays.
      await change('Matrix');
      await dialog.getByLabel('Balance below').fill('1');
      await save('!a:example.com at');
      receiver.status = 200;
      clock.nowMs += 60_000;
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByRole('status').getByText('at the first attempt').waitFor();
      expect(receiver.received.at(-1)).toMatchObject({
        method: 'PUT',
        headers: { authorization: 'Bearer syt_secret' },
      });
      await page.getByRole('button', { name: 'Turn alerts off' }).click();
      await dialog.getByRole('button', { name: 'Turn them off' }).click();
      await page.getByText('No alerts are raised.').waitFor();
    });

    it('are set by an operator, who sees why a webhook failed', async () => {
      const { page } = await open(parley.adminKey, '/accounts/account-1');
      receiver.status = 500;
      clock.nowMs += 60_000;
      await page.getByRole('button', { name: 'Set up alerts' }).click();
      await page.getByRole('dialog').getByLabel('URL').fill(`${receiver.origin}/other`);
      await page.getByRole('dialog').getByRole('button', { name: 'Set the alerts' }).click();
      await page.getByRole('dialog').getByLabel('The secret of the webhook').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'I have stored it' }).click();
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByRole('status').getByText('500').waitFor();
      await rowOf(page, 'A test').first().getByText('500').waitFor();
    });
  },
);
