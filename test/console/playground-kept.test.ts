/** What the playground keeps in the browser, and what a chat sends beside its text. */
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { violations } from '../support/axe-violations.ts';
import { chunk } from '../support/chat-answers.ts';
import { answerOf, ChatPages, send } from '../support/chat-page.ts';
import { missingBrowser, settled, signIn } from '../support/console-browser.ts';
import { events, failure } from '../support/upstream-answers.ts';

let chats: ChatPages;

beforeAll(async () => {
  if (missingBrowser === undefined) chats = await ChatPages.start();
});
afterAll(() => chats?.close());

const kept = (page: Page) => page.getByRole('region', { name: 'Conversations', exact: true });
const titles = (page: Page) => kept(page).locator('li .link').allTextContents();

async function ask(page: Page, question: string, answer: string): Promise<void> {
  chats.says(answer);
  await send(page, question);
  await answerOf(page, 'first').getByText(answer).waitFor();
  await expect.poll(() => titles(page)).toContain(question);
}

/** Base64 of a PNG that the browser draws. */
const pngOf = (page: Page, width: number, height: number) =>
  page.evaluate<string>(`{
    const canvas = document.createElement('canvas');
    canvas.width = ${width};
    canvas.height = ${height};
    canvas.getContext('2d').fillRect(0, 0, 99, 99);
    canvas.toDataURL('image/png').split(',')[1];
  }`);

/** Puts a PNG on the field as `paste` or `drop` do. Firefox makes no ClipboardEvent with data. */
const give = (page: Page, kind: 'paste' | 'drop', png: string) =>
  page.evaluate(`{
    const bytes = Uint8Array.from(atob('${png}'), (byte) => byte.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], 'a.png', { type: 'image/png' }));
    document.getElementById('question').dispatchEvent('${kind}' === 'paste'
      ? Object.assign(new Event('paste', { bubbles: true }), { clipboardData: data })
      : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
  }`);

const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object' } } }];

describe.skipIf(missingBrowser !== undefined)(
  `the playground${missingBrowser === undefined ? '' : ` (${missingBrowser})`}`,
  () => {
    it('keeps conversations in the browser: to open, rename and delete', async () => {
      const { page, complaints } = await chats.open();
      await ask(page, 'First question', 'First answer');
      await page.getByRole('button', { name: 'New conversation' }).click();
      await ask(page, 'Second question', 'Second answer');
      await page.reload();
      await page.getByText('Second answer').waitFor();
      await page.getByRole('link', { name: 'Speech' }).click();
      await page.getByRole('link', { name: 'Chat', exact: true }).click();
      await page.getByText('Second answer').waitFor();
      await kept(page).getByRole('button', { name: 'First question', exact: true }).click();
      await page.getByText('First answer').waitFor();
      await answerOf(page, 'first').getByText('9 + 4 tokens').waitFor();
      // The former answer shows its cost as well: the request itself tells that the question was sent.
      const received = chats.upstream.nextRequest();
      chats.says('Third answer');
      await send(page, 'More');
      const request = await received;
      await answerOf(page, 'first').getByText('Third answer').waitFor();
      expect(request.json.messages.map(({ content }: { content: string }) => content)).toEqual([
        'First question',
        'First answer',
        'More',
      ]);
      await kept(page).getByRole('button', { name: 'Edit First question' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Title').fill('Renamed');
      await page.keyboard.press('Enter');
      await expect.poll(() => titles(page)).toEqual(['Renamed', 'Second question']);
      await kept(page).getByRole('button', { name: 'Edit Renamed' }).click();
      await dialog.getByRole('button', { name: 'Delete the conversation' }).click();
      await expect.poll(() => titles(page)).toEqual(['Second question']);
      await page.getByText('Ask something.').waitFor();
      await kept(page).getByRole('button', { name: 'Delete all' }).click();
      await dialog.getByRole('button', { name: 'Delete all' }).click();
      await expect.poll(() => titles(page)).toEqual([]);
      await page.reload();
      await page.getByText('Ask something.').waitFor();
      expect(complaints).toEqual([]);
    });

    it('keeps an answer that its reader leaves, and shows no conversation to another key', async () => {
      const { page } = await chats.open();
      const write = chats.grows();
      await send(page, 'Secret question');
      await write('Half an answer');
      await page.getByText('Half an answer').waitFor();
      await page.getByRole('link', { name: 'Home' }).click();
      await page.getByRole('link', { name: 'Playground', exact: true }).click();
      await page.getByText('Stopped.').waitFor();
      await page.getByText('Half an answer').waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByLabel('API key or admin key').waitFor();
      await signIn(page, await chats.parley.newKey({ credits: '1' }));
      await settled(page);
      await page.getByText('Ask something.').waitFor();
      expect(await titles(page)).toEqual([]);
    });

    it('keeps 50 conversations, and deletes the oldest', async () => {
      const { page } = await chats.open();
      await ask(page, 'The oldest', 'An answer');
      // As many as there may be, newer than the first.
      await page.evaluate(`new Promise((resolve) => {
        indexedDB.open('parley').onsuccess = ({ target: { result } }) => {
          const stores = result.transaction(['heads', 'turns'], 'readwrite');
          const heads = stores.objectStore('heads');
          heads.getAll().onsuccess = ({ target: { result: [head] } }) => {
            for (let at = 1; at < 50; at++) {
              heads.put({ ...head, id: 'copy-' + at, title: 'Copy ' + at, changedMs: head.changedMs + 99_999 + at });
              stores.objectStore('turns').put({ id: 'copy-' + at, turns: [] });
            }
          };
          stores.oncomplete = resolve;
        };
      })`);
      await page.getByRole('button', { name: 'New conversation' }).click();
      await ask(page, 'The newest', 'Another answer');
      await expect.poll(async () => (await titles(page)).length).toBe(50);
      expect(await titles(page)).not.toContain('The oldest');
    });

    it('keeps settings under a name', async () => {
      const { page } = await chats.open();
      const name = page.getByLabel('Name', { exact: true });
      await page.getByLabel('System message').fill('Be brief.');
      await page.getByLabel('Temperature').fill('0.5');
      await page.getByText('Presets', { exact: true }).click();
      await name.fill('Brief');
      await page.keyboard.press('Enter');
      await page.reload();
      await settled(page);
      expect(await page.getByLabel('System message').inputValue()).toBe('');
      await page.getByText('Presets', { exact: true }).click();
      await page.getByLabel('Preset', { exact: true }).selectOption('Brief');
      await ask(page, 'Hello', 'Hi');
      expect(chats.upstream.requests.at(-1)?.json).toMatchObject({
        temperature: 0.5,
        messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
      });
      await page.getByRole('button', { name: 'Delete the preset' }).click();
      await page.getByLabel('Preset', { exact: true }).waitFor({ state: 'detached' });
    });

    it('sends images that are chosen, pasted and dropped, and keeps them', async () => {
      const { page, complaints } = await chats.open();
      const buffer = Buffer.from(await pngOf(page, 2_048, 512), 'base64');
      const choose = page.getByLabel('Images');
      await choose.setInputFiles({ name: 'wide.png', mimeType: 'image/png', buffer });
      await page.getByRole('img', { name: 'Attachment 1' }).waitFor();
      const small = await pngOf(page, 32, 16);
      await give(page, 'paste', small);
      await page.getByRole('img', { name: 'Attachment 2' }).waitFor();
      await give(page, 'drop', await pngOf(page, 16, 32));
      await page.getByRole('img', { name: 'Attachment 3' }).waitFor();
      await page.getByRole('button', { name: 'Remove image 2' }).click();
      await ask(page, 'Describe them', 'A black square');
      const [message] = chats.upstream.requests.at(-1)?.json.messages ?? [];
      expect(message.content).toEqual([
        { type: 'text', text: 'Describe them' },
        ...Array(2).fill({
          type: 'image_url',
          image_url: { url: expect.stringMatching(/^data:image\/jpeg;base64,/) },
        }),
      ]);
      await page.reload();
      const shown = page.locator('.turn').getByRole('img', { name: 'Attachment 1' });
      await shown.waitFor();
      const size =
        "[document.querySelector('.turn img')].flatMap((one) => [one.naturalWidth, one.naturalHeight])";
      await expect.poll(() => page.evaluate(size)).toEqual([1_024, 256]);
      await choose.setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer: Buffer.from('none') });
      await page.getByText('The browser cannot read this image.').waitFor();
      expect(complaints).toEqual([]);
    });

    it('sends tools, shows their calls, and what is wrong with their JSON', async () => {
      const { page } = await chats.open();
      await page.getByText('Tools', { exact: true }).click();
      await page.getByLabel('Tools as JSON').fill('{"type": ');
      await send(page, 'How is the weather?');
      await expect
        .poll(() => page.getByRole('alert').allTextContents())
        .toContainEqual(expect.stringContaining('JSON'));
      expect(await page.locator('.turn').count()).toBe(0);
      await page.getByLabel('Tools as JSON').fill(JSON.stringify(tools));
      const call = (piece: object) => chunk({ tool_calls: [{ index: 0, ...piece }] });
      chats.answers(
        events([
          call({ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":' } }),
          call({ function: { arguments: '"Oslo"}' } }),
          chunk({}, { finish_reason: 'tool_calls' }),
        ]),
      );
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('Call of the tool get_weather').waitFor();
      await page.getByText('{"city":"Oslo"}').waitFor();
      await answerOf(page, 'first').getByText('in total').waitFor();
      expect(chats.upstream.requests.at(-1)?.json.tools).toEqual(tools);
      chats.answers(failure(400));
      await send(page, 'And now?');
      await answerOf(page, 'first').getByRole('alert').waitFor();
    });

    it('has no fault that axe finds, in both themes and on a phone', async () => {
      for (const [colorScheme, width] of [
        ['light', 320],
        ['dark', 1280],
      ] as const) {
        const { page } = await chats.open({ colorScheme, viewport: { width, height: 700 } });
        const buffer = Buffer.from(await pngOf(page, 64, 64), 'base64');
        await page.getByLabel('Images').setInputFiles({ name: 'a.png', mimeType: 'image/png', buffer });
        chats.says(
          '# One\n\n- a [link](https://example.com)\n\n> said\n\n```js\nlong\n```\n\n|a|b|\n|-|-|\n|1|2|\n\n|a|\n|-|\n|1|\n',
        );
        await page.getByLabel('second').check();
        await send(page, 'Hello');
        for (const model of ['first', 'second']) {
          await answerOf(page, model).getByText('in total').waitFor();
        }
        await page.getByText('Tools', { exact: true }).click();
        await page.getByText('Presets', { exact: true }).click();
        await page.getByLabel('Name', { exact: true }).fill('Mine');
        await page.keyboard.press('Enter');
        await expect.poll(() => titles(page)).toEqual(['Hello']);
        expect(await violations(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
        await kept(page).getByRole('button', { name: 'Edit Hello' }).click();
        await page.getByRole('dialog').waitFor();
        expect(await violations(page)).toEqual([]);
        await page.keyboard.press('Escape');
        await kept(page).getByRole('button', { name: 'Delete all' }).click();
        await page.getByRole('dialog').waitFor();
        expect(await violations(page)).toEqual([]);
      }
    });
  },
);
