/** The first page of an operator: the chart of a period, and what needs a person. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { violations } from '../support/axe-violations.ts';
import { openSignedIn } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { failure, json } from '../support/upstream-answers.ts';

let browser: Browser;
let parley: Parley;
let upstream: ScriptedUpstream;

const messages = [{ role: 'user', content: 'I miss the sea.' }];
const chat = async (model: string, key = parley.apiKey) => {
  const answer = await parley.postJson('/chat/completions', { model, messages }, bearer(key));
  await answer.text();
  return answer.status;
};

const open = (width = 1280) =>
  openSignedIn(browser, parley, parley.adminKey, '/console', { viewport: { width, height: 900 } });
const needs = (page: Page) => page.getByRole('list', { name: 'Needs your attention' });
const use = (page: Page) => page.getByRole('region', { name: 'Use', exact: true });

/** The numbers of the page by their names. */
const numbers = async (page: Page) =>
  Object.fromEntries(
    await use(page)
      .locator('dl > div')
      .evaluateAll((parts) =>
        parts.map((part) => [
          part.querySelector('dt')?.textContent ?? '',
          part.querySelector('dd [title]')?.getAttribute('title') ?? part.querySelector('dd')?.textContent,
        ]),
      ),
  );

inBrowser(
  'the overview',
  async (opened) => {
    browser = opened.browser;
    upstream = await startScriptedUpstream();
    opened.atEnd(() => upstream.stop());
    upstream.answer('/chat/completions', failure(500));
    const file = join(mkdtempSync(join(tmpdir(), 'parley-overview-')), 'parley.yaml');
    const price = { input: 0.1, output: 0.4 };
    const paid = { kind: 'openai', baseUrl: upstream.baseUrl, models: { served: 'large' } };
    // JSON is valid YAML.
    writeFileSync(
      file,
      JSON.stringify({
        engines: { builtin: { kind: 'builtin' }, paid },
        models: [
          { id: 'eliza', type: 'chat', engine: 'builtin', price },
          { id: 'served', type: 'chat', engine: 'paid', price, contextTokens: 8_000 },
          { id: 'flite', type: 'speech', engine: 'builtin' },
        ],
      }),
    );
    parley = await startParley({ file, pages: opened.pages });
    opened.atEnd(() => parley.close());
    rmSync(dirname(file), { recursive: true });
  },
  () => {
    it('is one line and an empty chart on a quiet server', async () => {
      const { page, complaints } = await open();
      await use(page).getByText('No requests in this period.').waitFor();
      await page.getByText(/^\d+ engines up$/).waitFor();
      await page.getByText('3 models callable').waitFor();
      expect(await needs(page).count()).toBe(0);
      expect(await violations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });

    it('charts requests, errors, credits and first output of the day, as the API has them', async () => {
      for (let count = 0; count < 3; count++) expect(await chat('eliza')).toBe(200);
      for (let count = 0; count < 2; count++) expect(await chat('served')).toBe(500);
      const { page, complaints } = await open();
      const day = new Date().toISOString().slice(0, 10);
      const query = `start_time=${day}T00:00:00Z&group_by=operation&group_by=state`;
      const answer = await parley.call(`/admin/usage/totals?${query}`, bearer(parley.adminKey));
      const { totals } = (await answer.json()) as {
        totals: { operation: string; state: string; requests: number; cost: string }[];
      };
      const chats = totals.filter(({ operation }) => operation === 'chat');
      const requestsOf = (...states: string[]) =>
        chats
          .filter(({ state }) => states.length === 0 || states.includes(state))
          .reduce((sum, { requests }) => sum + Number(requests), 0);
      const spent = chats.find(({ state }) => state === 'ok')?.cost;
      expect(requestsOf()).toBe(5);
      await expect
        .poll(() => numbers(page))
        .toMatchObject({
          Requests: String(requestsOf()),
          Errors: String(requestsOf('failed', 'interrupted')),
          'Credits spent': `${spent} credits`,
          'Credits loaded': '10 credits',
          'First output': expect.stringMatching(/^[\d.]+ m?s$/),
        });
      const legend = async () =>
        (await use(page).locator('figcaption .series').allInnerTexts()).map((text) => text.trim());
      expect(await legend()).toEqual(['eliza 3', 'served 2']);
      await use(page).getByLabel('By', { exact: true }).selectOption('state');
      await expect.poll(legend).toEqual(['ok 3', 'failed 2']);
      await use(page).getByText('Errors', { exact: true }).last().click();
      await expect.poll(legend).toEqual(['failed 2']);
      await use(page).getByText('First output', { exact: true }).last().click();
      await expect.poll(async () => (await legend())[0]).toMatch(/^ok [\d.]+ m?s$/);
      await use(page).locator('canvas').waitFor();
      expect(page.url()).toContain('measure=first');
      expect(await violations(page)).toEqual([]);
      await use(page).getByRole('link', { name: 'All usage' }).click();
      await expect.poll(() => page.url()).toContain('/console/usage?');
      expect(new URL(page.url()).searchParams.get('period')).toBe('today');
      expect(complaints).toEqual([]);
    });

    it('shows the value of an hour under the pointer', async () => {
      const { page } = await open();
      const plot = use(page).locator('.plot');
      await plot.locator('canvas').waitFor();
      const { width = 0, height = 0 } = (await plot.boundingBox()) ?? {};
      // The bar of this hour, right of the axis.
      const place = 0.03 / 1.06 + (new Date().getUTCHours() / 23) * (1 / 1.06);
      await plot.hover({ position: { x: 64 + (width - 72) * place, y: height / 2 } });
      await use(page)
        .getByText(/:00 [AP]M \(UTC\)$/)
        .waitFor();
      expect(await use(page).locator('figcaption .series strong').allInnerTexts()).toEqual(['3', '2']);
    });

    it('lists an upstream account without credits, and accounts at and near their limits', async () => {
      const error = { message: 'You exceeded your current quota.', code: 'insufficient_quota' };
      upstream.answer('/chat/completions', json({ error }, { status: 429 }));
      expect(await chat('served')).toBe(429);
      const limits = { characters_per_day: 10 };
      await parley.admin('/accounts/account-1/limits', { limits });
      const speech = { model: 'flite', input: 'Nine here' };
      expect((await parley.postJson('/audio/speech', speech)).status).toBe(200);
      const { page } = await open(390);
      const item = (text: string) => needs(page).getByRole('listitem').filter({ hasText: text });
      await item('The upstream account of paid has no credits left. It answered 429').waitFor();
      await item('The engine paid fails').waitFor();
      const answer = await parley.call('/admin/accounts/account-1', bearer(parley.adminKey));
      const account = (await answer.json()) as { limit_counts: { used: string; limit: string }[] };
      const [count] = account.limit_counts;
      const shown = `account-1 is near its limit. Characters today: ${count?.used} of ${count?.limit}.`;
      expect(shown).toContain('9 of 10');
      await item(shown).waitFor();
      await parley.admin('/accounts/account-1/limits', { limits: { characters_per_day: 9 } });
      await page.reload();
      await item('account-1 is at its limit. Characters today: 9 of 9.').waitFor();
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(wide).toBeLessThanOrEqual(390);
      expect(await violations(page)).toEqual([]);
    });
  },
);
