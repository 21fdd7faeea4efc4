/** All pages of the console in a real browser: themes, widths, keyboard, accessibility. */
import type { Browser } from 'playwright-core';
import { expect, it } from 'vitest';
import { violations } from '../support/axe-violations.ts';
import { openConsole, openSignedIn, settled } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { type Parley, startParley } from '../support/parley.ts';

const holderPages = [
  '',
  '/usage',
  '/keys',
  '/credits',
  '/alerts',
  '/models',
  '/models?model=flite',
  '/playground',
  '/playground/speech',
  '/playground/transcription',
  '/playground/live',
  '/playground/conversation',
];
const operatorPages = [
  ...[
    '',
    '/accounts',
    '/accounts/account-1',
    '/usage',
    '/playground',
    '/models',
    '/server',
    '/keys',
    '/audit',
  ],
];

let browser: Browser;
let parley: Parley;
/** A key with the scope `manage`. */
let manager: string;
let origin: string;

const people = [
  ['a holder', () => parley.apiKey, holderPages],
  ['a holder who manages', () => manager, ['/keys', '/alerts']],
  ['an operator', () => parley.adminKey, operatorPages],
] as const;

/** The focused element, in a list, if something else is at each of its edges and in its middle. */
const coveredFocus = `(() => {
  const own = document.activeElement;
  // Firefox moves the focus on to its own buttons.
  if (own === document.body || !own.matches(':focus')) return [];
  const { left, top, right, bottom } = own.getBoundingClientRect();
  const at = [top + 2, (top + bottom) / 2, bottom - 2].map((y) =>
    document.elementFromPoint((left + right) / 2, y));
  return at.some((one) => one && (own.contains(one) || one.contains(own))) ? [] : [own.outerHTML.slice(0, 120)];
})()`;

inBrowser(
  'the console',
  async (opened) => {
    browser = opened.browser;
    parley = await startParley({ pages: opened.pages });
    opened.atEnd(() => parley.close());
    origin = new URL(parley.baseUrl).origin;
    manager = await parley.newKey({ scopes: ['chat', 'manage'] });
    const chat = { model: 'eliza', messages: [{ role: 'user', content: 'I am here.' }] };
    await (await parley.postJson('/chat/completions', chat)).text();
    await (await parley.postJson('/audio/speech', { model: 'flite', input: 'Hello.' })).arrayBuffer();
    await (await parley.postJson('/chat/completions', { model: 'nobody', messages: [] })).text();
  },
  () => {
    it.each(people)('shows every page of %s, and breaks no rule of its policy', async (_, key, paths) => {
      const { page, complaints } = await openSignedIn(browser, parley, key());
      for (const path of paths) {
        await page.goto(`${origin}/console${path}`);
        await settled(page);
        expect(await page.locator('main').textContent()).not.toContain('Not found');
        expect(await page.getByRole('alert').filter({ hasText: /\S/ }).count()).toBe(0);
        expect(await page.title()).toMatch(/ · Parley$/);
        // One action stands out, if any.
        const primary = await page.locator('main .primary:visible').allTextContents();
        expect([path, primary.slice(1)]).toEqual([path, []]);
      }
      expect(complaints).toEqual([]);
    });

    it('would report a script that the policy forbids', async () => {
      const { page, complaints } = await openConsole(browser, parley);
      await page.evaluate(`{
      const script = document.createElement('script');
      script.textContent = 'document.title = "changed"';
      document.body.append(script);
    }`);
      await expect.poll(() => complaints.join()).toContain('Content Security Policy');
      expect(await page.title()).not.toBe('changed');
    });

    it.each(people)(
      'has no accessibility fault for %s that axe finds, in both themes',
      async (_, key, paths) => {
        for (const colorScheme of ['light', 'dark'] as const) {
          const { page } = await openSignedIn(browser, parley, key(), '/console', { colorScheme });
          for (const path of paths) {
            await page.goto(`${origin}/console${path}`);
            await settled(page);
            if (key() !== parley.adminKey && /^\/playground(?!\/conversation)/.test(path))
              await page.getByText('As code').click();
            expect([path, await violations(page)]).toEqual([path, []]);
          }
        }
      },
    );

    it('has no accessibility fault on the sign-in page and in a dialog', async () => {
      const signedOut = await openConsole(browser, parley);
      await signedOut.page.getByText('Where do I get a key?').click();
      expect(await violations(signedOut.page)).toEqual([]);
      const { page } = await openSignedIn(browser, parley, parley.adminKey, '/console/accounts/account-1');
      for (const name of ['New key', 'Load credits', 'Limits', 'Delete', 'Set up alerts']) {
        if (name === 'Limits' || name === 'Delete') {
          await page.getByText('More actions').click();
          expect(await violations(page)).toEqual([]);
        }
        await page.getByRole('button', { name, exact: true }).click();
        await page.getByRole('dialog').locator('form').waitFor();
        expect([name, await violations(page)]).toEqual([name, []]);
        await page.keyboard.press('Escape');
        await page.locator('dialog').waitFor({ state: 'detached' });
      }
    });

    it.each(people)('fits %s into 320 to 2,560 pixels', async (_, key, paths) => {
      const { page } = await openSignedIn(browser, parley, key());
      for (const width of [320, 768, 1280, 2560]) {
        await page.setViewportSize({ width, height: 800 });
        for (const path of paths) {
          await page.goto(`${origin}/console${path}`);
          await settled(page);
          const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
          expect([path, width, wide <= width]).toEqual([path, width, true]);
        }
      }
    });

    it.each([
      ['/playground', () => parley.apiKey, '.composer'],
      ['/accounts', () => parley.adminKey, '.bulk'],
    ] as const)('shows all that takes the focus on %s of a phone', async (path, key, sticky) => {
      const { page } = await openSignedIn(browser, parley, key(), `/console${path}`, {
        viewport: { width: 390, height: 700 },
      });
      if (sticky === '.composer') {
        for (const count of [1, 2, 3]) {
          await page
            .getByRole('textbox', { name: 'Message', exact: true })
            .fill(`I am here.\n\n${'Line.\n'.repeat(20)}`);
          await page.keyboard.press('Enter');
          await expect.poll(() => page.getByText(/ credits?$/).count()).toBeGreaterThanOrEqual(count);
        }
      } else await page.locator('tbody input').first().check();
      for (const direction of ['Tab', 'Shift+Tab']) {
        await page.locator('main').focus();
        for (let steps = 0; steps < 40; steps++) {
          await page.keyboard.press(direction);
          // The browser scrolls a moment after the focus has moved.
          await expect.poll(() => page.evaluate<string[]>(coveredFocus)).toEqual([]);
        }
      }
      // At its end the page shows all of its last part above it.
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      const overlaps = `(() => {
        const box = document.querySelector('${sticky}').getBoundingClientRect();
        return [...document.querySelectorAll('main :is(p, td, button, input, summary)')]
          .filter((one) => !one.closest('${sticky}') && one.checkVisibility())
          .map((one) => one.getBoundingClientRect())
          .filter(({ top, bottom, height }) => height > 0 && top < box.bottom - 1 && bottom > box.top + 1).length;
      })()`;
      if (sticky === '.composer') expect(await page.evaluate(overlaps)).toBe(0);
    });

    it('has a menu on a phone', async () => {
      const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console', {
        viewport: { width: 360, height: 740 },
      });
      const link = page.getByRole('link', { name: 'Credits' });
      expect(await link.isVisible()).toBe(false);
      await page.locator('.menu summary').click();
      await link.click();
      await page.getByRole('heading', { name: 'Ledger' }).waitFor();
      expect(await link.isVisible()).toBe(false);
    });

    it('can be used by the keyboard alone', async () => {
      const { page } = await openConsole(browser, parley);
      const { keyboard } = page;
      /** The text of the focused element, or the name of a field. */
      const focused = () =>
        page.evaluate<string>(
          '(document.activeElement?.name || document.activeElement?.textContent || "").trim()',
        );
      const tabTo = async (text: string) => {
        for (let steps = 0; steps < 60 && (await focused()) !== text; steps++) await keyboard.press('Tab');
        expect(await focused()).toBe(text);
      };
      // The field has the focus at first.
      await keyboard.type(parley.adminKey);
      await keyboard.press('Enter');
      await page.locator('.shell').waitFor();
      await settled(page);
      await tabTo('Skip to the content');
      await keyboard.press('Enter');
      await expect.poll(() => page.evaluate('document.activeElement?.id')).toBe('content');
      await page.reload();
      await settled(page);
      await tabTo('Accounts');
      await keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Accounts' }).waitFor();
      await tabTo('New account');
      await keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await keyboard.press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
      await expect.poll(focused).toBe('New account');
      await keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await tabTo('name');
      await keyboard.type('By keyboard');
      await keyboard.press('Enter');
      await page.getByRole('heading', { name: 'By keyboard' }).waitFor();
    });

    it('keeps the chosen theme', async () => {
      const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console', {
        colorScheme: 'light',
      });
      const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
      const light = await ground();
      await page.getByLabel('Theme').selectOption('Dark');
      await expect.poll(ground).not.toBe(light);
      await page.reload();
      await settled(page);
      await expect.poll(ground).not.toBe(light);
    });
  },
);
