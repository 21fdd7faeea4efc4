/** The tasks of an operator that `docs/console.md` lists, each from the first page of the console: the clicks and the fields that it takes. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { chunks } from '../support/chat-answers.ts';
import { openSignedIn, settled } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, failure, json } from '../support/upstream-answers.ts';

let browser: Browser;
let folder: string;
let parley: Parley;
let upstream: ScriptedUpstream;
/** The id of a request of `account-1`. */
let request: string;
/** The id of one that failed. */
let failed: string;

/** Counts what a person does. */
class Hand {
  readonly page: Page;
  clicks = 0;
  fields = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator): Promise<void> {
    await target.click();
    this.clicks++;
  }

  async type(target: Locator, text: string): Promise<void> {
    await target.fill(text);
    this.fields++;
  }

  async goToAccount(name: string): Promise<void> {
    await this.click(this.page.getByRole('link', { name: 'Accounts' }));
    await this.click(this.page.getByRole('link', { name, exact: true }));
    await this.page.getByRole('heading', { name, exact: true }).waitFor();
  }

  async press(name: string): Promise<void> {
    await this.click(this.page.getByRole('button', { name, exact: true }));
  }
}

interface Task {
  readonly name: string;
  readonly play: (hand: Hand) => Promise<void>;
}

const guide = readFileSync('docs/console.md', 'utf8');
const dialogOf = ({ page }: Hand) => page.getByRole('dialog');

/** In this order: the last one erases the account of those before. */
const tasks: readonly Task[] = [
  {
    name: 'create an account',
    async play(hand) {
      await hand.click(hand.page.getByRole('link', { name: 'Accounts' }));
      await hand.press('New account');
      await hand.type(dialogOf(hand).getByLabel('Name'), 'Blue Harbour');
      await hand.press('Create the account');
      await hand.page.getByRole('heading', { name: 'Blue Harbour' }).waitFor();
    },
  },
  {
    name: 'create a key with a limit',
    async play(hand) {
      await hand.goToAccount('Blue Harbour');
      await hand.press('New key');
      const dialog = dialogOf(hand);
      await hand.type(dialog.getByLabel('Name'), 'Website');
      await hand.click(dialog.locator('summary', { hasText: 'Limits' }));
      await hand.type(dialog.getByLabel('Credits per month'), '20');
      await hand.press('Create the key');
      const secret = await dialog.getByLabel('The new key').inputValue();
      await hand.press('I have stored it');
      expect((await parley.call('/models', bearer(secret))).status).toBe(200);
    },
  },
  {
    name: 'load credits',
    async play(hand) {
      await hand.goToAccount('Blue Harbour');
      await hand.press('Load credits');
      await hand.type(dialogOf(hand).getByLabel('Credits'), '25');
      await hand.type(dialogOf(hand).getByLabel('Reason'), 'Invoice 7');
      await hand.press('Load');
      await hand.page.getByRole('cell', { name: 'Invoice 7' }).waitFor();
    },
  },
  {
    name: 'find a request by its id',
    async play(hand) {
      await hand.click(hand.page.getByRole('link', { name: 'Usage', exact: true }));
      await hand.type(hand.page.getByLabel('Request id'), request);
      await hand.page.keyboard.press('Enter');
      const rows = hand.page.getByRole('region', { name: 'Requests as a table' }).locator('tbody tr');
      await expect.poll(() => rows.count()).toBe(1);
      await hand.click(rows.getByRole('button'));
      await dialogOf(hand).getByText('account-1', { exact: true }).waitFor();
    },
  },
  {
    name: 'see what an account spent this month',
    async play(hand) {
      await hand.goToAccount('account-1');
      await hand.click(hand.page.getByRole('link', { name: 'Statement of a month' }));
      await hand.page
        .getByRole('row', { name: /^debit eliza/ })
        .getByText('-0.0000')
        .waitFor();
    },
  },
  {
    name: 'revoke a key',
    async play(hand) {
      await hand.goToAccount('Blue Harbour');
      await hand.press('Revoke Website');
      await hand.press('Revoke the key');
      await hand.page.getByText(/^revoked /).waitFor();
    },
  },
  {
    name: 'set an alert',
    async play(hand) {
      await hand.goToAccount('Blue Harbour');
      await hand.press('Set up alerts');
      await hand.type(dialogOf(hand).getByLabel('Balance below'), '5');
      await hand.press('Set the alerts');
      await hand.page.getByText('none: alerts are only listed').waitFor();
    },
  },
  {
    name: 'see which engine fails',
    async play(hand) {
      await hand.click(hand.page.getByRole('link', { name: 'Server', exact: true }));
      const engines = hand.page.getByRole('region', { name: 'Engines' });
      await engines.getByRole('row', { name: /^far / }).getByText('1 of 1').waitFor();
    },
  },
  {
    name: 'add a server with a model',
    async play(hand) {
      await hand.click(hand.page.getByRole('link', { name: 'Models', exact: true }));
      await hand.press('Try a server');
      const dialog = dialogOf(hand);
      await hand.type(dialog.getByLabel('URL'), upstream.baseUrl);
      await hand.press('Check it');
      await hand.click(dialog.getByLabel('meta/small:8b'));
      const model = dialog.getByRole('group', { name: 'meta/small:8b', exact: true });
      await hand.type(model.getByLabel('Credits per million in'), '0.5');
      await hand.type(model.getByLabel('Credits per million out'), '2');
      await hand.type(model.getByLabel('Context'), '32768');
      await hand.press('Check it');
      await dialog.getByText('This changes parley.yaml').waitFor();
      await hand.press('Save and use it');
      await dialog.waitFor({ state: 'detached' });
      await hand.page.getByRole('button', { name: 'Edit meta/small:8b' }).waitFor();
    },
  },
  {
    name: 'find out why a request failed, by its id',
    async play(hand) {
      await hand.click(hand.page.getByRole('link', { name: 'Usage', exact: true }));
      await hand.type(hand.page.getByLabel('Request id'), failed);
      await hand.page.keyboard.press('Enter');
      const rows = hand.page.getByRole('region', { name: 'Requests as a table' }).locator('tbody tr');
      await expect.poll(() => rows.count()).toBe(1);
      await hand.click(rows.getByRole('button'));
      await dialogOf(hand).getByText('Attempt 1').waitFor();
      expect(await dialogOf(hand).textContent()).toMatch(/far.*500/);
    },
  },
  {
    name: 'call the model of the added server',
    async play(hand) {
      upstream.answer('/chat/completions', events(chunks('It', ' runs.')));
      await hand.click(hand.page.getByRole('link', { name: 'Playground', exact: true }));
      await hand.type(hand.page.getByRole('combobox', { name: 'Account' }), 'account-1');
      await hand.page.keyboard.press('Enter');
      await hand.page.getByText('You play as account-1').waitFor();
      await settled(hand.page);
      await hand.click(hand.page.getByRole('checkbox', { name: 'meta/small:8b' }));
      await hand.type(hand.page.getByLabel('Message', { exact: true }), 'Hello.');
      await hand.page.keyboard.press('Enter');
      await hand.page.getByText('It runs.').waitFor();
    },
  },
  {
    name: 'print a statement',
    async play(hand) {
      await hand.goToAccount('Blue Harbour');
      await hand.click(hand.page.getByRole('link', { name: 'Statement of a month' }));
      await hand.page.getByRole('row', { name: /^load .*25/ }).waitFor();
      await hand.page.evaluate('window.print = () => { document.title = "printed"; }');
      await hand.press('Print');
      expect(await hand.page.title()).toBe('printed');
    },
  },
  {
    name: 'erase an account',
    async play(hand) {
      await hand.goToAccount('Blue Harbour');
      await hand.click(hand.page.getByText('More actions'));
      await hand.press('Delete');
      await hand.type(dialogOf(hand).getByLabel('Type Blue Harbour'), 'Blue Harbour');
      await hand.press('Delete it for good');
      await hand.page.getByRole('heading', { name: 'Accounts', exact: true }).waitFor();
    },
  },
];

inBrowser(
  "an operator's tasks",
  async (opened) => {
    browser = opened.browser;
    upstream = await startScriptedUpstream();
    opened.atEnd(() => upstream.stop());
    upstream.answer('/models', json({ data: [{ id: 'meta/small:8b' }] }));
    upstream.answer('/chat/completions', failure(500));
    const price = { input: 1, output: 1 };
    const eliza = { id: 'eliza', type: 'chat', engine: 'builtin', price } as const;
    const limits = { contextTokens: 1_000, outputTokensMax: 100 };
    const engines = { far: { kind: 'openai', baseUrl: upstream.baseUrl }, builtin: { kind: 'builtin' } };
    const models = [eliza, { ...eliza, ...limits, id: 'large', engine: 'far' }];
    folder = mkdtempSync(join(tmpdir(), 'parley-tasks-'));
    opened.atEnd(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'parley.yaml');
    writeFileSync(file, JSON.stringify({ engines, models }));
    parley = await startParley({ pages: opened.pages, file });
    opened.atEnd(() => parley.close());
    const messages = [{ role: 'user', content: 'Hello.' }];
    const answers = [];
    for (const model of ['eliza', 'large']) {
      const answer = await parley.postJson('/chat/completions', { model, messages });
      await answer.text();
      answers.push([answer.status, answer.headers.get('x-request-id')]);
    }
    expect(answers.map(([status]) => status)).toEqual([200, 500]);
    [request = '', failed = ''] = answers.map(([, id]) => String(id));
  },
  () => {
    it.each(tasks)('$name', async (task) => {
      const { page, complaints } = await openSignedIn(browser, parley, parley.adminKey);
      await settled(page);
      const hand = new Hand(page);
      const startedAtMs = performance.now();
      await task.play(hand);
      const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(1);
      const { clicks, fields } = hand;
      process.stdout.write(`${task.name}: ${clicks} clicks, ${fields} fields, ${seconds} s\n`);
      expect(guide).toContain(`\n| ${task.name} | ${clicks} | ${fields} |\n`);
      expect(complaints).toEqual([]);
    });
  },
);
