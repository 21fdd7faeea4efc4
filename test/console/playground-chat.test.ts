/** The chat of the playground in a real browser: Markdown, scrolling, the bill of each end. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerOf, ChatPages, send } from '../support/chat-page.ts';
import { missingBrowser, withClipboard } from '../support/console-browser.ts';
import { failure } from '../support/upstream-answers.ts';

let chats: ChatPages;

beforeAll(async () => {
  if (missingBrowser === undefined) chats = await ChatPages.start();
});
afterAll(() => chats?.close());

/** Whether the last such element is in the window, and nothing covers it. */
const isInView = (page: Page, selector: string) =>
  page.evaluate<boolean>(`{
    const element = [...document.querySelectorAll('${selector}')].at(-1);
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const there = document.elementFromPoint((left + right) / 2, bottom - 2);
    top >= 0 && bottom <= innerHeight && element.contains(there);
  }`);
const stop = '.composer button.primary';

const markdown = [
  '# Title\n\nWith **bold**, `code`, [good](https://example.com/) and [bad](javascript:alert(1)).\n\n',
  '<img src=x onerror=alert(1)>\n\n1. one\n   - inner\n2. two\n\n> said\n\n',
  '| a | b |\n|---|---|\n| 1 | 2 |\n\n```js\nconst a = 1;\n```\n',
];

describe.skipIf(missingBrowser !== undefined)(
  `the chat of the playground${missingBrowser === undefined ? '' : ` (${missingBrowser})`}`,
  () => {
    it('shows Markdown as elements, without HTML and with links to http and https only', async () => {
      chats.says(...markdown);
      const { page, complaints } = await chats.open(withClipboard);
      await send(page, 'Show it all.');
      const answer = answerOf(page, 'first');
      await answer.getByText('in total').waitFor();
      for (const selector of ['h3', 'strong', 'p code', 'ol > li > ul > li', 'blockquote', 'tbody td', 'pre'])
        await answer.locator(selector).first().waitFor();
      expect(await answer.locator('a').evaluateAll((links) => links.map((link) => link.outerHTML))).toEqual([
        '<a href="https://example.com/" target="_blank" rel="noopener noreferrer">good</a>',
      ]);
      expect(await answer.locator('img').count()).toBe(0);
      expect(await answer.textContent()).toContain('<img src=x onerror=alert(1)>');
      await answer.locator('.code-block').getByRole('button', { name: 'Copy' }).click();
      await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('const a = 1;');
      expect(complaints).toEqual([]);
    });

    it.each([320, 768, 1280, 1920])(
      'scrolls with the answer unless its reader has scrolled up, with Stop in view, at %s pixels',
      async (width) => {
        const write = chats.grows();
        const { page } = await chats.open({ viewport: { width, height: 700 } });
        await page.getByLabel('Message', { exact: true }).fill('Tell me a long story.');
        expect(await page.evaluate('scrollY')).toBe(0);
        await page.keyboard.press('Enter');
        const paragraph = (name: string) => `${`${name} `.repeat(40)}\n\n`;
        for (let part = 1; part <= 20; part++) await write(paragraph(`part-${part}`));
        await page.getByText('part-20').waitFor();
        await expect.poll(() => isInView(page, '.answer .text p')).toBe(true);
        expect(await isInView(page, stop)).toBe(true);
        await page.evaluate('scrollBy(0, -600)');
        await expect.poll(() => isInView(page, '.answer .text p')).toBe(false);
        const top = await page.evaluate('scrollY');
        await write(paragraph('later'));
        await page.getByText('later').waitFor();
        expect(await page.evaluate('scrollY')).toBe(top);
        expect(await isInView(page, stop)).toBe(true);
        await page.evaluate('scrollTo(0, 0)');
        expect(await isInView(page, stop)).toBe(true);
        await page.evaluate('scrollTo(0, document.body.scrollHeight)');
        expect(await isInView(page, stop)).toBe(true);
        await page.getByRole('button', { name: 'Stop' }).click();
        await page.getByText('Stopped.').waitFor();
        chats.says('Short.');
        await page.evaluate('scrollTo(0, 0)');
        await send(page, 'Once more.');
        await page.getByText('Short.').waitFor();
        await expect.poll(() => isInView(page, '.answer .measures')).toBe(true);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
        const [composer, settings] = await Promise.all(
          ['.composer', 'aside'].map((part) => page.locator(part).boundingBox()),
        );
        if (width > 1_000) {
          const right = (composer?.x ?? 0) + (composer?.width ?? 0);
          expect(right).toBeLessThanOrEqual(settings?.x ?? 0);
        } else {
          await page.getByRole('link', { name: 'Settings' }).click();
          await expect.poll(() => isInView(page, 'aside legend')).toBe(true);
        }
      },
    );

    it('shows tokens and cost of each of three models, and of answers that were stopped or failed', async () => {
      chats.says('Good', ' morning.');
      const { page, complaints } = await chats.open();
      await page.getByLabel('second').check();
      await page.getByLabel('third').check();
      await send(page, 'Hello.');
      for (const model of ['first', 'second', 'third']) {
        await answerOf(page, model).getByText('to first').waitFor();
        await answerOf(page, model).getByText('9 + 4 tokens').waitFor();
        expect(await answerOf(page, model).locator('.number').getAttribute('title')).toBe('0.000013 credits');
      }
      await page.getByRole('button', { name: 'New conversation' }).click();
      await page.getByRole('checkbox', { name: 'second' }).uncheck();
      await page.getByRole('checkbox', { name: 'third' }).uncheck();
      const write = chats.grows();
      await send(page, 'Hello.');
      await write('Slow words of a model');
      await page.getByText('Slow words').waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await answerOf(page, 'first').locator('.number').waitFor();
      const { records } = await chats.parley.books();
      const [stopped] = records
        .filter(({ state }) => state === 'cancelled')
        .sort((one, other) => other.startedAtMs - one.startedAtMs);
      const { promptTokens, completionTokens, cost } = stopped ?? {};
      expect(completionTokens).toBeGreaterThan(0);
      await answerOf(page, 'first').getByText(`${promptTokens} + ${completionTokens} tokens`).waitFor();
      const shown = await answerOf(page, 'first').locator('.number').getAttribute('title');
      expect(Number.parseFloat(shown ?? '')).toBeCloseTo(Number(cost) / 1e9, 9);
      expect(complaints).toEqual([]);
      chats.answers(failure(400));
      await page.getByRole('button', { name: 'New conversation' }).click();
      await send(page, 'Fail.');
      await answerOf(page, 'first').getByRole('alert').waitFor();
      await answerOf(page, 'first').getByText('0.00 credits').waitFor();
    });
  },
);
