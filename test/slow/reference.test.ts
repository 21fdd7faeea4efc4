/** The reference in a real browser: Debian's Chromium. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { shell } from '../clients/shell.ts';
import { play, playingEngines, recording } from '../conformance/play.ts';
import { waitMsMax } from '../support/console-browser.ts';
import { type Parley, startParley } from '../support/parley.ts';

const executablePath = '/usr/bin/chromium';
const missing = existsSync(executablePath) ? undefined : 'Chromium is not installed';
const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

let browser: Browser;
let parley: Parley;
let playing: Parley;

beforeAll(async () => {
  if (missing !== undefined) return;
  const pages = new Map(Object.entries(await consoleFiles()));
  // Chromium's sandbox needs a user other than root. It opens pages of this test only.
  const args = ['--no-sandbox', '--autoplay-policy=no-user-gesture-required'];
  browser = await chromium.launch({ executablePath, args });
  parley = await startParley({ pages });
  playing = await startParley({ pages, engines: playingEngines() });
});
afterAll(async () => {
  if (missing !== undefined) return;
  await browser.close();
  await Promise.all([parley.close(), playing.close()]);
});

interface Opened {
  readonly page: Page;
  /** Errors in the console, violations of the policy, and requests to other servers. */
  readonly complaints: readonly string[];
}

async function open(server: Parley, path: string, options: BrowserContextOptions = {}): Promise<Opened> {
  const { origin } = new URL(server.baseUrl);
  const context = await browser.newContext({ ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMsMax);
  const complaints: string[] = [];
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('request', (request) => {
    if (!/^blob:/.test(request.url()) && new URL(request.url()).origin !== origin)
      complaints.push(request.url());
  });
  await page.goto(origin + path);
  await page.locator('h1').waitFor();
  return { page, complaints };
}

/** Opens the form of an operation, and fills in the key. */
async function tryIt(page: Page, operation: string, key: string): Promise<Locator> {
  const article = page.locator(`#${operation}`);
  await article.getByText('Try it').click();
  await article.getByLabel(/^(API|Admin) key$/).fill(key);
  return article.locator('form');
}

const send = (form: Locator) => form.getByRole('button', { name: 'Send' }).click();

describe.skipIf(missing !== undefined)(`the reference${missing === undefined ? '' : ` (${missing})`}`, () => {
  it('shows every operation and every RPC, and breaks no rule of its policy', async () => {
    const rest = await open(parley, '/docs');
    const document = (await (await parley.call('/openapi.json')).json()) as { paths: Record<string, object> };
    const operations = Object.values(document.paths)
      .flatMap((item) => Object.keys(item))
      .filter((key) => /get|post/.test(key));
    expect(await rest.page.locator('article').count()).toBe(operations.length);
    expect(rest.complaints).toEqual([]);
    const rpcs = await open(parley, '/docs/rpcs#parley.chat.v1.ChatMessage');
    await expect.poll(() => rpcs.page.locator('[id="parley.chat.v1.ChatMessage"]').isVisible()).toBe(true);
    expect(await rpcs.page.getByRole('link', { name: 'chat.proto' }).getAttribute('href')).toBe(
      '/docs/proto/parley/chat/v1/chat.proto',
    );
    expect(await rpcs.page.getByText('one request, a stream of responses').count()).toBeGreaterThan(2);
    expect(rpcs.complaints).toEqual([]);
  });

  it('would report a script that the policy forbids', async () => {
    const { page, complaints } = await open(parley, '/docs');
    await page.evaluate(`{
      const script = document.createElement('script');
      script.textContent = 'document.title = "changed"';
      document.body.append(script);
    }`);
    await expect.poll(() => complaints.join()).toContain('Content Security Policy');
    expect(await page.title()).toBe('Parley reference');
  });

  it('finds operations by path, name and parameter', async () => {
    const { page } = await open(parley, '/docs');
    await page.keyboard.press('/');
    await page.keyboard.type('dry_run');
    await expect.poll(() => page.locator('article').count()).toBe(1);
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('location.hash')).toBe('#adminPruneUsageRecords');
    await page.getByRole('searchbox').fill('nothing has this');
    await page.getByText('No results for').waitFor();
  });

  it('sends a request with the key of the reader, which stays for other forms and after a reload', async () => {
    const { page, complaints } = await open(parley, '/docs');
    const form = await tryIt(page, 'listModels', parley.apiKey);
    await form.getByLabel('type', { exact: true }).selectOption('speech');
    await send(form);
    await form.getByText('200 OK').waitFor();
    expect(await form.locator('.output').textContent()).toContain('"defaultVoice": "rms"');
    await page.reload();
    const account = page.locator('#getAccount');
    // The page moves while it is drawn, so a click may miss.
    await expect
      .poll(async () => {
        if (!(await account.getByLabel('API key').isVisible())) await account.getByText('Try it').click();
        return account.getByLabel('API key').inputValue({ timeout: 1_000 });
      })
      .toBe(parley.apiKey);
    await send(account.locator('form'));
    await account.getByText('"account-1"').waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows an error as the server words it', async () => {
    const { page } = await open(parley, '/docs');
    const form = await tryIt(page, 'getAccount', 'pk_wrong');
    await send(form);
    await form.getByText('401').first().waitFor();
    await expect.poll(() => form.locator('.output').textContent()).toContain('invalid_api_key');
  });

  it('fills a path, and administers with an admin key', async () => {
    const { page } = await open(parley, '/docs');
    const form = await tryIt(page, 'adminGetAccount', parley.adminKey);
    await form.getByLabel('account_id').fill('account-1');
    await send(form);
    await form.getByText('200 OK').waitFor();
    expect(await form.locator('.output').textContent()).toContain('"name": "account-1"');
  });

  it('shows a streamed chat while it arrives, until it is stopped', async () => {
    const { page } = await open(playing, '/docs');
    const form = await tryIt(page, 'createChatCompletion', playing.apiKey);
    const content = play('say Good', 'say  morning.', 'wait');
    await form
      .getByLabel('Body (JSON)')
      .fill(JSON.stringify({ model: 'eliza', messages: [{ role: 'user', content }] }));
    await form.getByLabel('Stream the answer').check();
    expect(await form.getByLabel('Body (JSON)').inputValue()).toContain('"stream": true');
    await send(form);
    await expect.poll(() => form.locator('.output').first().textContent()).toContain('Good morning.');
    expect(await form.getByText('complete after').count()).toBe(0);
    await form.getByRole('button', { name: 'Stop' }).click();
    await form.getByText('Stopped.').waitFor();
  });

  it('shows a whole streamed chat with its events', async () => {
    const { page, complaints } = await open(parley, '/docs');
    const form = await tryIt(page, 'createChatCompletion', parley.apiKey);
    await form.getByLabel('Stream the answer').check();
    await send(form);
    await form.getByText('complete after').waitFor();
    await form.getByText(/\d+ events/).click();
    expect(await form.locator('.output').last().textContent()).toContain('[DONE]');
    expect(complaints).toEqual([]);
  });

  it('plays the audio of a speech answer', async () => {
    const { page, complaints } = await open(parley, '/docs');
    const form = await tryIt(page, 'synthesizeSpeech', parley.apiKey);
    await send(form);
    const audio = form.locator('audio');
    await audio.waitFor();
    const heard = await page.evaluate<number>(`(async () => {
      const element = document.querySelector('audio');
      await element.play();
      await new Promise((resolve) => element.addEventListener('ended', resolve, { once: true }));
      return element.duration;
    })()`);
    expect(heard).toBeGreaterThan(0.5);
    expect(complaints).toEqual([]);
  });

  it('sends a recording as a form', async () => {
    const { page } = await open(playing, '/docs');
    const form = await tryIt(page, 'createTranscription', playing.apiKey);
    const buffer = recording('say hello', 'say there');
    await form.getByLabel('file').setInputFiles({ name: 'hello.wav', mimeType: 'audio/wav', buffer });
    await form.getByLabel('response_format').selectOption('verbose_json');
    await form.getByLabel('word', { exact: true }).check();
    await form.getByLabel('keywords[]').fill('hello, there');
    await send(form);
    await form.getByText('200 OK').waitFor();
    expect(await form.locator('.output').textContent()).toContain('"word": "hello"');
    await form.getByText('As a command').click();
    expect(await form.locator('details pre').textContent()).toContain("-F 'keywords[]=hello'");
  });

  it('shows the request as a command that works', async () => {
    const { page } = await open(parley, '/docs');
    const form = await tryIt(page, 'createChatCompletion', parley.apiKey);
    await form.getByText('As a command').click();
    const shown = form.locator('details pre');
    await expect.poll(() => shown.textContent()).toContain('$KEY');
    const command = (await shown.textContent()) ?? '';
    expect(command).not.toContain(parley.apiKey);
    const { stdout } = await shell(command, { env: { KEY: parley.apiKey } });
    expect(JSON.parse(stdout)).toMatchObject({ object: 'chat.completion' });
  });

  it.each(['light', 'dark'] as const)(
    'has no accessibility fault that axe finds, in the %s theme',
    async (colorScheme) => {
      for (const path of ['/docs', '/docs/rpcs']) {
        // The policy blocks foreign scripts in the page, axe too.
        const { page } = await open(parley, path, { colorScheme, bypassCSP: true });
        if (path === '/docs') {
          const form = await tryIt(page, 'createChatCompletion', parley.apiKey);
          await send(form);
          await form.getByText('complete after').waitFor();
          // An opened part may draw further closed parts.
          const closed = page.locator('#createTranscription details:not([open]) > summary');
          while ((await closed.count()) > 0) await closed.first().click();
        }
        await page.addScriptTag({ path: axeFile });
        const { violations } = await page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
        const found = violations.map(
          ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 100))}`,
        );
        expect(found).toEqual([]);
      }
    },
  );

  it('can be used by the keyboard alone', async () => {
    const { page } = await open(parley, '/docs');
    const { keyboard } = page;
    await keyboard.press('Tab');
    expect(await page.evaluate<string>('document.activeElement?.textContent')).toContain(
      'Skip to the content',
    );
    await keyboard.press('Enter');
    await expect.poll(() => page.evaluate<string>('document.activeElement?.id')).toBe('content');
    await keyboard.press('/');
    await keyboard.type('getAccount');
    await expect.poll(() => page.locator('article').count()).toBe(2);
    const focused = () => page.evaluate<string>('document.activeElement?.textContent ?? ""');
    const tabTo = async (text: string) => {
      for (let steps = 0; steps < 100 && (await focused()) !== text; steps++) await keyboard.press('Tab');
      expect(await focused()).toBe(text);
    };
    await tabTo('Try it');
    await keyboard.press('Enter');
    await page.locator('#getAccount form').waitFor();
    await keyboard.press('Tab');
    await keyboard.type(parley.apiKey);
    await tabTo('Send');
    await keyboard.press('Enter');
    await page.locator('#getAccount .output').waitFor();
    await expect.poll(() => page.locator('#getAccount .output').textContent()).toContain('"account-1"');
  });

  it.each([320, 768, 1440, 2560])('fits a screen of %i pixels', async (width) => {
    for (const path of ['/docs', '/docs/rpcs']) {
      const { page } = await open(parley, path, { viewport: { width, height: 800 } });
      for (const summary of await page.locator('#createChatCompletion summary').all()) await summary.click();
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
      expect(over).toBeLessThanOrEqual(0);
      await page.context().close();
    }
  });

  it('follows the theme of the system until the reader chooses one', async () => {
    const background = (page: Page) =>
      page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const { page } = await open(parley, '/docs', { colorScheme: 'dark' });
    const dark = await background(page);
    await page.getByLabel('Theme').selectOption('light');
    await expect.poll(() => background(page)).not.toBe(dark);
    const light = await background(page);
    await page.reload();
    await page.locator('h1').waitFor();
    await expect.poll(() => background(page)).toBe(light);
  });

  it('shows the problem if the server does not answer', async () => {
    const { page } = await open(parley, '/docs');
    const form = await tryIt(page, 'getAccount', parley.apiKey);
    await page.context().setOffline(true);
    await send(form);
    await form.getByText('The server could not be reached').waitFor();
  });
});
