/** The reference in a real browser: Debian's Chromium. */
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { play, playingEngines, recording } from '../conformance/play.ts';
import { readDocument } from '../support/api-document.ts';
import { violations } from '../support/axe-violations.ts';
import {
  launchBrowser,
  missingBrowser,
  openConsole,
  openSignedIn,
  pressSlash,
} from '../support/console-browser.ts';
import { type Parley, startParley } from '../support/parley.ts';

let browser: Browser;
let parley: Parley;
let playing: Parley;

beforeAll(async () => {
  if (missingBrowser !== undefined) return;
  const pages = new Map(Object.entries(await consoleFiles()));
  browser = await launchBrowser();
  parley = await startParley({ pages });
  playing = await startParley({ pages, engines: playingEngines() });
});
afterAll(async () => {
  if (missingBrowser !== undefined) return;
  await browser.close();
  await Promise.all([parley.close(), playing.close()]);
});

/** Opens the page of an operation and its form, and fills in the key. */
async function tryIt(server: Parley, operation: string, key: string, options: BrowserContextOptions = {}) {
  const opened = await openConsole(browser, server, `/docs/api/${operation}`, options);
  const form = await openForm(opened.page);
  await form.getByLabel(/^(API|Admin) key$/).fill(key);
  return { ...opened, form };
}

async function openForm(page: Page): Promise<Locator> {
  await page.getByText('Try it').click();
  return page.locator('form.try');
}

const sampleOf = (page: Page) => page.locator('.samples .code').first().locator('pre');

const send = (form: Locator) => form.getByRole('button', { name: 'Send' }).click();

function readApi(): { readonly id: string; readonly hasRpc: boolean }[] {
  const paths = readDocument()['paths'] ?? {};
  return Object.values(paths).flatMap((item) =>
    Object.values(item as Record<string, Record<string, unknown>>)
      .filter((one) => typeof one['operationId'] === 'string')
      .map((one) => ({ id: String(one['operationId']), hasRpc: 'x-grpc' in one })),
  );
}

describe.skipIf(missingBrowser !== undefined)(`the reference ${missingBrowser ?? ''}`, () => {
  it('has a page for every operation and one for the RPCs, and breaks no rule of its policy', async () => {
    const rest = await openConsole(browser, parley, '/docs');
    const links = await rest.page.locator('aside a[href^="/docs/api/"]').all();
    expect(links.length).toBe(readApi().length);
    expect(await rest.page.locator('aside h2').allTextContents()).toEqual([
      ...['Speech', 'Transcription', 'Chat', 'Responses', 'Messages', 'Completions', 'Models and voices'],
      ...['Account and usage', 'Keys', 'Alerts', 'Administration', 'Monitoring'],
    ]);
    expect(rest.complaints).toEqual([]);
    const rpcs = await openConsole(browser, parley, '/docs/rpcs#parley.chat.v1.ChatMessage');
    await expect.poll(() => rpcs.page.locator('[id="parley.chat.v1.ChatMessage"]').isVisible()).toBe(true);
    expect(await rpcs.page.getByRole('link', { name: 'chat.proto' }).getAttribute('href')).toBe(
      '/docs/proto/parley/chat/v1/chat.proto',
    );
    expect(await rpcs.page.getByText('one request, a stream of responses').count()).toBeGreaterThan(2);
    expect(rpcs.complaints).toEqual([]);
  });

  it('draws the page of each operation, with samples', async () => {
    const { page, complaints } = await openConsole(browser, parley, '/docs');
    for (const { id, hasRpc } of readApi()) {
      await page.goto(`${new URL(parley.baseUrl).origin}/docs/api/${id}`);
      await page.locator('.samples').waitFor();
      expect(await page.locator('aside [aria-current="page"]').getAttribute('href')).toBe(`/docs/api/${id}`);
      expect(await page.locator('.languages label').count()).toBeGreaterThanOrEqual(hasRpc ? 4 : 3);
    }
    expect(complaints).toEqual([]);
  });

  it('follows an address of an operation in the former page', async () => {
    const { page } = await openConsole(browser, parley, '/docs#getAccount');
    await page.waitForURL('**/docs/api/getAccount');
  });

  it('would report a script that the policy forbids', async () => {
    const { page, complaints } = await openConsole(browser, parley, '/docs');
    await page.evaluate(`{
      const script = document.createElement('script');
      script.textContent = 'document.title = "changed"';
      document.body.append(script);
    }`);
    await expect.poll(() => complaints.join()).toContain('Content Security Policy');
    expect(await page.title()).toBe('Parley reference');
  });

  it('sends a request with the session of the console, and names its key beside the samples', async () => {
    const { page, complaints } = await openSignedIn(browser, parley, parley.apiKey);
    await page.goto(`${new URL(parley.baseUrl).origin}/docs/api/getAccount`);
    const lastFour = parley.apiKey.slice(-4);
    await page.locator('.samples').getByText(`pk_…${lastFour}`).waitFor();
    const form = await openForm(page);
    await send(form);
    await form.getByText('"account-1"').waitFor();
    expect(complaints).toEqual([]);
  });

  it('sends a request with the key of the reader, which stays for other forms and after a reload', async () => {
    const { page, complaints, form } = await tryIt(parley, 'listModels', parley.apiKey);
    await form.getByLabel('type', { exact: true }).selectOption('speech');
    await expect.poll(() => sampleOf(page).textContent()).toContain('/api/v1/models?type=speech');
    await send(form);
    await form.getByText('200 OK').waitFor();
    expect(await form.locator('.output').textContent()).toContain('"defaultVoice": "rms"');
    await page.locator('aside').getByRole('link', { name: 'GET Account', exact: true }).click();
    await page.waitForURL('**/getAccount');
    const account = await openForm(page);
    expect(await account.getByLabel('API key').inputValue()).toBe(parley.apiKey);
    await send(account);
    await account.getByText('"account-1"').waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows an error as the server words it', async () => {
    const { form } = await tryIt(parley, 'getAccount', 'pk_wrong');
    await send(form);
    await form.getByText('401').first().waitFor();
    await expect.poll(() => form.locator('.output').textContent()).toContain('invalid_api_key');
  });

  it('fills a path, and administers with an admin key', async () => {
    const { form } = await tryIt(parley, 'adminGetAccount', parley.adminKey);
    await form.getByLabel('account_id').fill('account-1');
    await send(form);
    await form.getByText('200 OK').waitFor();
    expect(await form.locator('.output').textContent()).toContain('"name": "account-1"');
  });

  it('shows a streamed chat while it arrives, until it is stopped', async () => {
    const { form } = await tryIt(playing, 'createChatCompletion', playing.apiKey);
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
    const { complaints, form } = await tryIt(parley, 'createChatCompletion', parley.apiKey);
    await form.getByLabel('Stream the answer').check();
    await send(form);
    await form.getByText('complete after').waitFor();
    await form.getByText(/\d+ events/).click();
    expect(await form.locator('.output').last().textContent()).toContain('[DONE]');
    expect(complaints).toEqual([]);
  });

  it('plays the audio of a speech answer', async () => {
    const { page, complaints, form } = await tryIt(parley, 'synthesizeSpeech', parley.apiKey);
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
    const { page, form } = await tryIt(playing, 'createTranscription', playing.apiKey);
    const buffer = recording('say hello', 'say there');
    await form.getByLabel('file').setInputFiles({ name: 'hello.wav', mimeType: 'audio/wav', buffer });
    await form.getByLabel('response_format').selectOption('verbose_json');
    await form.getByLabel('word', { exact: true }).check();
    await form.getByLabel('keywords[]').fill('hello, there');
    await send(form);
    await form.getByText('200 OK').waitFor();
    expect(await form.locator('.output').textContent()).toContain('"word": "hello"');
    expect(await sampleOf(page).textContent()).toContain("-F 'keywords[]=hello'");
  });

  it.each(['light', 'dark'] as const)(
    'has no accessibility fault in an operation and in search results, in the %s theme',
    async (colorScheme) => {
      const { page, form } = await tryIt(parley, 'createChatCompletion', parley.apiKey, { colorScheme });
      await send(form);
      await form.getByText('complete after').waitFor();
      await page.getByRole('searchbox').fill('voice');
      await page.locator('.results a').first().waitFor();
      expect(await violations(page)).toEqual([]);
      const opened = await openConsole(browser, parley, '/docs/api/createTranscription', { colorScheme });
      await opened.page.locator('.samples').waitFor();
      // An opened part may draw further closed parts.
      const closed = opened.page.locator('main details:not([open]) > summary');
      while ((await closed.count()) > 0) await closed.first().click();
      expect(await violations(opened.page)).toEqual([]);
    },
  );

  it('can be used by the keyboard alone', async () => {
    const { page } = await openConsole(browser, parley, '/docs');
    const { keyboard } = page;
    await keyboard.press('Tab');
    expect(await page.evaluate<string>('document.activeElement?.textContent')).toContain(
      'Skip to the content',
    );
    await keyboard.press('Enter');
    await expect.poll(() => page.evaluate<string>('document.activeElement?.id')).toBe('content');
    await pressSlash(page);
    await keyboard.type('getAccount');
    await page.locator('.results a').first().waitFor();
    await keyboard.press('Enter');
    await page.waitForURL('**/docs/api/getAccount');
    await page.locator('.samples').waitFor();
    const focused = () => page.evaluate<string>('document.activeElement?.textContent ?? ""');
    const tabTo = async (text: string) => {
      for (let steps = 0; steps < 100 && (await focused()) !== text; steps++) await keyboard.press('Tab');
      expect(await focused()).toBe(text);
    };
    await tabTo('Try it');
    await keyboard.press('Enter');
    await page.locator('form.try').waitFor();
    await keyboard.press('Tab');
    await keyboard.type(parley.apiKey);
    await tabTo('Send');
    await keyboard.press('Enter');
    await page.locator('main .output').waitFor();
    await expect.poll(() => page.locator('main .output').textContent()).toContain('"account-1"');
  });

  it('shows the problem if the server does not answer', async () => {
    const { page, form } = await tryIt(parley, 'getAccount', parley.apiKey);
    await page.context().setOffline(true);
    await send(form);
    await form.getByText('The server could not be reached').waitFor();
  });
});
