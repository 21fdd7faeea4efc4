/** An operator tries a server from the console, and sees that the configuration file differs from what runs. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { loadConfig } from '../../src/config/config.ts';
import { violations } from '../support/axe-violations.ts';
import { openSignedIn, settled } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { failure, json } from '../support/upstream-answers.ts';

let browser: Browser;
let parley: Parley;
let upstream: ScriptedUpstream;
let folder: string;
let file: string;

/** The form after it has checked the upstream. */
async function tried(page: Page, name: string): Promise<Locator> {
  await page.getByRole('button', { name: 'Try a server' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill(name);
  await dialog.getByLabel('URL').fill(upstream.baseUrl);
  await dialog.getByLabel('Its key').fill('sk-secret');
  await dialog.getByLabel('Ask each chat model').check();
  await dialog.getByRole('button', { name: 'Check it' }).click();
  return dialog;
}

async function costOf(model: string): Promise<unknown> {
  const messages = [{ role: 'user', content: 'Hi' }];
  const answer = await parley.postJson('/chat/completions', { model, messages });
  expect(answer.status).toBe(200);
  return (await parley.recordOf(answer))?.cost;
}

const open = () => openSignedIn(browser, parley, parley.adminKey, '/console/models');

inBrowser(
  'engines in the console',
  async (opened) => {
    folder = mkdtempSync(join(tmpdir(), 'parley-tried-'));
    opened.atEnd(() => rmSync(folder, { recursive: true }));
    browser = opened.browser;
    file = join(folder, 'parley.yaml');
    writeFileSync(
      file,
      'models:\n  - { id: eliza, type: chat, engine: builtin, price: { input: 0.1, output: 0.4 } } # ours\n',
    );
    parley = await startParley({ file, pages: opened.pages });
    opened.atEnd(() => parley.close());
    upstream = await startScriptedUpstream();
    opened.atEnd(() => upstream.stop());
    upstream.answer('/models', json({ data: [{ id: 'meta/small:8b' }, { id: 'speaker' }] }));
    const message = { role: 'assistant', content: 'Hello.' };
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    upstream.answer(
      '/chat/completions',
      json({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }),
    );
  },
  () => {
    it('adds a server with its models to parley.yaml, where they are edited, removed and brought back', async () => {
      const { page, complaints } = await open();
      const dialog = await tried(page, 'lab-1');
      await dialog.getByText(`${upstream.baseUrl} answers.`).waitFor();
      await dialog.getByLabel('meta/small:8b').check();
      await dialog.getByLabel('speaker').check();
      await dialog.getByRole('button', { name: 'Add a model by its name' }).click();
      await dialog.getByRole('button', { name: 'Remove' }).click();
      const [small, speaker] = ['meta/small:8b', 'speaker'].map((name) =>
        dialog.getByRole('group', { name, exact: true }),
      ) as [Locator, Locator];
      await speaker.getByLabel('Type').selectOption('transcription');
      await small.getByLabel('Public name').fill('small');
      await small.getByLabel('Credits per million in').fill('half');
      await dialog.getByRole('button', { name: 'Check it' }).click();
      await small.getByText('is "half", but must be credits per million tokens').waitFor();
      await small.getByText('`models[1].price.output` is missing').waitFor();
      await small.getByText('The server does not report it').waitFor();
      expect(await dialog.getByRole('button', { name: 'Save' }).count()).toBe(0);
      await small.getByLabel('Credits per million in').fill('0.5');
      await small.getByLabel('Credits per million out').fill('2');
      await small.getByLabel('Credits per million cached').fill('0.05');
      await small.getByLabel('Context').fill('32768');
      await dialog.getByRole('button', { name: 'Check it' }).click();
      await dialog.getByText('This changes parley.yaml').waitFor();
      await dialog.getByText('It answers, and reports its tokens.').waitFor();
      expect(await dialog.getByText('does not report the context').count()).toBe(0);
      expect(await violations(page)).toEqual([]);
      expect(await dialog.locator('pre').textContent()).not.toContain('sk-secret');
      await dialog.getByRole('button', { name: 'Save and use it' }).click();
      await dialog.waitFor({ state: 'detached' });
      const { engines, models } = loadConfig({ file, env: {} });
      expect(engines).toMatchObject({
        'lab-1': { kind: 'openai', baseUrl: upstream.baseUrl, models: { small: 'meta/small:8b' } },
      });
      const price = { inputPerMillion: 500_000_000n, cachedInputPerMillion: 50_000_000n };
      expect(models).toMatchObject([
        { id: 'eliza' },
        { id: 'small', type: 'chat', engine: 'lab-1', price, contextTokens: 32_768 },
        { id: 'speaker', type: 'transcription' },
      ]);
      expect(await costOf('small')).toBe(5_500n);
      expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer sk-secret');
      await page.getByRole('button', { name: 'Edit small' }).click();
      const settings = dialog.getByLabel('Its settings');
      await settings.fill((await settings.inputValue()).replace('input: 0.5', 'input: free'));
      await dialog.getByRole('button', { name: 'Check it' }).click();
      await dialog.getByText('must be credits per million tokens').waitFor();
      await settings.fill((await settings.inputValue()).replace('input: free', 'input: 0.25'));
      await dialog.getByRole('button', { name: 'Check it' }).click();
      await dialog.getByText('input: 0.25').waitFor();
      expect(await violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Save and use it' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await costOf('small')).toBe(4_750n);
      await page.getByRole('button', { name: 'Disable small' }).click();
      await dialog.getByRole('button', { name: 'Show what changes' }).click();
      await dialog.getByText('disabled: true').waitFor();
      await dialog.getByRole('button', { name: 'Save and use it' }).click();
      await page
        .getByRole('row', { name: /^small chat/ })
        .getByText('disabled', { exact: true })
        .waitFor();
      const hello = { model: 'small', messages: [{ role: 'user', content: 'Hi' }] };
      expect((await parley.postJson('/chat/completions', hello)).status).toBe(503);
      await page.getByRole('button', { name: 'Enable small' }).click();
      await dialog.getByRole('button', { name: 'Show what changes' }).click();
      await dialog.getByRole('button', { name: 'Save and use it' }).click();
      await page.getByRole('button', { name: 'Disable small' }).waitFor();
      expect(await costOf('small')).toBe(4_750n);
      await page.getByRole('button', { name: 'Remove speaker' }).click();
      await dialog.getByRole('button', { name: 'Show what changes' }).click();
      await dialog.getByText('-   - id: speaker').waitFor();
      await dialog.getByRole('button', { name: 'Save and use it' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(readFileSync(file, 'utf8')).not.toContain('speaker');
      await page.getByRole('button', { name: 'Undo the last change' }).click();
      await dialog.getByRole('button', { name: 'Show what changes' }).click();
      await dialog.getByText('+   - id: speaker').waitFor();
      await dialog.getByRole('button', { name: 'Save and use it' }).click();
      await page.getByRole('button', { name: 'Remove speaker' }).waitFor();
      expect(readFileSync(file, 'utf8')).toContain('# ours');
      expect(complaints).toEqual([]);
    });

    it('gives the lines to copy where the file cannot be changed', async () => {
      const pages = new Map(Object.entries(await consoleFiles()));
      const running = await startParley({ pages });
      const { page } = await openSignedIn(browser, running, running.adminKey, '/console/models');
      await page.getByText('from a pipe').waitFor();
      const dialog = await tried(page, 'lab-3');
      await dialog.getByLabel('speaker').check();
      await dialog.getByLabel('Type').selectOption('speech');
      await dialog.getByRole('button', { name: 'Check it' }).click();
      await dialog.getByText('LAB_3_API_KEY', { exact: true }).waitFor();
      expect(await dialog.locator('pre').textContent()).toContain('apiKeyEnv: LAB_3_API_KEY');
      expect(await violations(page)).toEqual([]);
      await running.close();
    });

    it('checks the lines with the file that the server reads', async () => {
      const file = join(folder, 'running.yaml');
      writeFileSync(file, 'models: [{ id: speaker, type: transcription, engine: builtin }]\n');
      const pages = new Map(Object.entries(await consoleFiles()));
      const running = await startParley({ pages, file });
      const { page } = await openSignedIn(browser, running, running.adminKey, '/console/models');
      const dialog = await tried(page, 'lab-2');
      await dialog.getByLabel('speaker').check();
      await dialog.getByLabel('Type').selectOption('transcription');
      await dialog.getByRole('button', { name: 'Check it' }).click();
      await dialog.getByText('is a second transcription model').waitFor();
      await dialog.getByText('Give one of them another id').waitFor();
      expect(await violations(page)).toEqual([]);
      await running.close();
    });

    it('says what is wrong, at the field that it concerns', async () => {
      upstream.answer('/models', failure(401));
      const { page } = await open();
      await page.getByRole('button', { name: 'Try a server' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('URL').fill('ftp://nowhere');
      await page.keyboard.press('Enter');
      await dialog.getByText('must be a URL such as').waitFor();
      await expect.poll(() => page.evaluate('document.activeElement?.name')).toBe('url');
      await dialog.getByLabel('URL').fill(upstream.baseUrl);
      await dialog.getByLabel('Its key').fill('wrong');
      await page.keyboard.press('Enter');
      await dialog.getByText('does not accept the key').waitFor();
      await dialog.getByLabel('Kind').selectOption('A server with the Messages API');
      await page.keyboard.press('Enter');
      await expect.poll(() => upstream.requests.at(-1)?.headers['x-api-key']).toBe('wrong');
      // A form takes no second check while one runs.
      await dialog.getByRole('button', { name: 'Check it' }).waitFor();
      await dialog.getByLabel('Kind').selectOption('Another Parley');
      await dialog.getByLabel('URL').fill('http://127.0.0.1:9/api/v1');
      await page.keyboard.press('Enter');
      await dialog.getByText('http://127.0.0.1:9/api/v1 cannot be reached').waitFor();
    });

    it('shows which settings of the file differ from what runs', async () => {
      const file = join(folder, 'edited.yaml');
      writeFileSync(file, '');
      const pages = new Map(Object.entries(await consoleFiles()));
      const edited = await startParley({ pages, file });
      writeFileSync(file, 'fairUse: { planUnitsPerMonth: 7 }\n');
      const { page } = await openSignedIn(browser, edited, edited.adminKey, '/console/server');
      const note = page.getByRole('region', { name: 'Configuration file' });
      await note.getByText('parley config apply').waitFor();
      await note.getByText(/settings? differs?/).click();
      await note.getByText('fairUse.planUnitsPerMonth', { exact: true }).waitFor();
      expect(await violations(page)).toEqual([]);
      writeFileSync(file, 'fairUse: { planUnitsPerMonth: many }\n');
      await page.getByRole('button', { name: 'Reload' }).first().click();
      await settled(page);
      await note.getByText('cannot use it as it is').waitFor();
      await edited.close();
    });
  },
);
