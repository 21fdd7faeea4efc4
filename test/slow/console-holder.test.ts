/** A holder uses the console in a real browser: usage, saved files, the playground. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Browser, Download, Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { play, playingEngines, recording } from '../conformance/play.ts';
import { openSignedIn } from '../support/console-browser.ts';
import { inBrowser } from '../support/in-browser.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { recordEnd, recordStart } from '../support/usage-record.ts';

let browser: Browser;
let pages: ReadonlyMap<string, Buffer>;
/** A server with the builtin engines. */
let parley: Parley;
/** A server with two chat models, whose engines follow the script in a request. */
let playing: Parley;

const chatModel = (id: string) =>
  ({ id, type: 'chat', engine: 'builtin', price: { input: 1, output: 2 }, contextTokens: 8_000 }) as const;

const chat = (content: string) =>
  parley.postJson('/chat/completions', { model: 'eliza', messages: [{ role: 'user', content }] });

async function saved(page: Page, save: () => Promise<void>): Promise<{ name: string; text: string }> {
  const [download] = await Promise.all([page.waitForEvent('download') as Promise<Download>, save()]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
}

/** Runs in the page: notes the texts that are drawn since the chart was last cleared. */
const noteTexts = `
  globalThis.drawn = [];
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...place) {
    drawn.length = 0;
    clearRect.apply(this, place);
  };
  CanvasRenderingContext2D.prototype.fillText = function (...text) {
    drawn.push(text[0]);
    fillText.apply(this, text);
  };
`;

/** The days on the axis of the chart. */
const daysOf = (page: Page) =>
  page.evaluate(() =>
    (Reflect.get(globalThis, 'drawn') as string[]).filter((text) => /^[A-Z][a-z]{2} \d/.test(text)),
  );

const rows = (page: Page, region: string) => page.getByRole('region', { name: region }).locator('tbody tr');

inBrowser(
  'a holder',
  async (opened) => {
    pages = opened.pages;
    browser = opened.browser;
    parley = await startParley({ pages });
    opened.atEnd(() => parley.close());
    const models = [
      chatModel('first'),
      chatModel('second'),
      { id: 'flite', type: 'speech', engine: 'builtin' } as const,
      { id: 'pocketsphinx', type: 'transcription', engine: 'builtin' } as const,
    ];
    playing = await startParley({ pages, engines: playingEngines(), settings: { models } });
    opened.atEnd(() => playing.close());
    await (await chat('I am here.')).text();
    await (await parley.postJson('/audio/speech', { model: 'flite', input: 'Hello.' })).arrayBuffer();
  },
  () => {
    it('sees in each cell of the sums, and of the ledger, what the API says', async () => {
      const own = await startParley({ pages });
      const { keyId } = await own.recordOf(await own.call('/models'));
      const holder = { accountId: own.accountId, keyId };
      const record = async (
        facts: Parameters<typeof recordStart>[1],
        end: Parameters<typeof recordEnd>[1],
      ) => {
        await own.app.store.requests.record(recordStart(holder, facts), recordEnd('ok', end));
      };
      await record({ operation: 'speech', model: 'a', characters: 3_915 }, {});
      await record({ operation: 'transcription', model: 'b' }, { audioMsIn: 61_500 });
      const { page } = await openSignedIn(browser, own, own.apiKey, '/console/usage');
      const cellsOf = async (operation: string) => {
        const heads = await page
          .getByRole('region', { name: 'Sums as a table' })
          .locator('thead th')
          .allTextContents();
        const row = rows(page, 'Sums as a table').filter({ hasText: operation });
        await row.waitFor();
        const cells = await row.locator('th, td').allTextContents();
        return Object.fromEntries(heads.map((head, index) => [head, cells[index]]));
      };
      expect(await cellsOf('speech')).toMatchObject({ Characters: '3,915', Audio: '–', Tokens: '–' });
      expect(await cellsOf('transcription')).toMatchObject({ Characters: '–', Audio: '61.5 s' });
      const first = () => rows(page, 'Sums as a table').first().locator('th').textContent();
      const sort = page
        .getByRole('region', { name: 'Sums as a table' })
        .getByRole('button', { name: 'Audio' });
      for (const name of ['speech', 'transcription']) {
        await sort.click();
        await expect.poll(first).toContain(name);
      }
      await own.close();
    });

    it('finds their usage by the filters of the address, which a link keeps', async () => {
      const { page, complaints } = await openSignedIn(browser, parley, parley.apiKey, '/console/usage');
      await page.locator('.plot canvas').waitFor();
      await expect.poll(() => rows(page, 'Sums as a table').count()).toBe(2);
      await expect.poll(() => rows(page, 'Requests as a table').count()).toBe(2);
      await page.getByLabel('Operation').selectOption('speech');
      await expect.poll(() => rows(page, 'Requests as a table').count()).toBe(1);
      await page.getByText('Last 7 days').click();
      await expect.poll(() => page.url()).toContain('?operation=speech&period=7d');
      await page.reload();
      await expect.poll(() => rows(page, 'Sums as a table').count()).toBe(1);
      await page.getByLabel('State').selectOption('failed');
      await page.getByText('No requests in this period.').waitFor();
      await page.getByText('No requests found.').waitFor();
      expect(complaints).toEqual([]);
    });

    it.each(['UTC', 'Asia/Tokyo', 'Asia/Kolkata', 'America/Los_Angeles'])(
      'reads the same days below the bars of the chart in %s',
      async (timezoneId) => {
        const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console', { timezoneId });
        await page.evaluate(noteTexts);
        await page.getByRole('link', { name: 'Usage', exact: true }).click();
        await page.getByText('Last 7 days').click();
        await expect.poll(() => daysOf(page)).toHaveLength(7);
        const days = Array.from({ length: 7 }, (_, at) => new Date(Date.now() - (6 - at) * 86_400_000));
        expect(await daysOf(page)).toEqual(
          days.map((day) =>
            day.toLocaleDateString('en-US', { day: 'numeric', month: 'short', timeZone: 'UTC' }),
          ),
        );
      },
    );

    it('finds one request by its id, and sees all its facts', async () => {
      const response = await chat('Who am I?');
      await response.text();
      const id = response.headers.get('x-request-id') ?? '';
      const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console/usage');
      const find = async (text: string) => {
        const field = page.getByPlaceholder('Find by request id');
        await field.selectText();
        // Firefox reports a change of typed text only.
        await field.pressSequentially(text);
        await field.press('Enter');
      };
      await find(id);
      await expect.poll(() => rows(page, 'Requests as a table').count()).toBe(1);
      await rows(page, 'Requests as a table').getByRole('button').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(id).waitFor();
      const { cost } = await parley.recordOf(response);
      expect(await dialog.textContent()).toContain(`0.${String(cost).padStart(9, '0').replace(/0+$/, '')}`);
      await page.keyboard.press('Escape');
      await find('req_nothing');
      await page.getByText('Check the id').waitFor();
    });

    it('runs the command of the first page as it is shown', async () => {
      const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console');
      const command = (await page.locator('pre').textContent()) ?? '';
      const { stdout } = await promisify(execFile)('bash', ['-c', command], {
        env: { ...process.env, PARLEY_API_KEY: parley.apiKey },
      });
      expect(JSON.parse(stdout)).toMatchObject({ object: 'chat.completion', model: 'eliza' });
    });

    it('saves sums and requests as CSV', async () => {
      const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console/usage');
      const [sums, requests] = [
        page.getByRole('region', { name: 'Sums', exact: true }),
        page.getByRole('region', { name: 'Requests', exact: true }),
      ];
      const totals = await saved(page, () => sums.getByRole('button', { name: 'Save as CSV' }).click());
      expect(totals.text).toMatch(/^operation,time,operation,model,state,requests,/);
      expect(totals.text).toMatch(/\r\nspeech,\d{4}-\d\d-\d\d,speech,flite,ok,1,/);
      const records = await saved(page, () => requests.getByRole('button', { name: 'Save as CSV' }).click());
      expect(records.text).toMatch(/^id,account_id,key_id,operation,model,/);
      expect(records.text).toMatch(/\r\nreq_[^,]+,acc_[^,]+,key_[^,]+,speech,flite,rest,ok,200,/);
    });

    it('sees the ledger, and the request behind a debit', async () => {
      const { page } = await openSignedIn(browser, parley, parley.apiKey, '/console/credits');
      const debit = rows(page, 'Ledger').filter({ hasText: 'debit' }).first();
      await debit.getByRole('link').click();
      await expect.poll(() => rows(page, 'Requests as a table').count()).toBe(1);
      expect(await rows(page, 'Requests as a table').textContent()).toContain('eliza');
    });

    it('sees that plan and credits have ended', async () => {
      const { page } = await openSignedIn(browser, parley, await parley.newKey());
      await page.getByText('No credits are left.').waitFor();
      await page.getByText('No plan.').waitFor();
      await page.getByRole('heading', { name: 'From a program' }).waitFor();
    });

    it('compares two models, with the tokens and the cost of each, and stops them', async () => {
      const { page, complaints } = await openSignedIn(
        browser,
        playing,
        playing.apiKey,
        '/console/playground',
      );
      await page.getByLabel('second').check();
      await page.getByLabel('Message', { exact: true }).fill(play('say Good', 'say  morning.'));
      await page.keyboard.press('Enter');
      for (const name of ['Answer of first', 'Answer of second']) {
        const answer = page.getByRole('region', { name });
        await answer.getByText('7 + 3 tokens').waitFor();
        expect(await answer.textContent()).toContain('Good morning.');
        // 7 tokens at 1 credit and 3 at 2 credits per million.
        expect(await answer.locator('.number').getAttribute('title')).toBe('0.000013 credits');
      }
      await page.getByLabel('Message', { exact: true }).fill(play('say Slow', 'wait'));
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name: 'Answer of first' }).getByText('Slow').last().waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await expect.poll(() => page.getByText('Stopped.').count()).toBe(2);
      await page.getByRole('button', { name: 'Send' }).waitFor();
      expect(complaints).toEqual([]);
    });

    it('sees why an answer failed', async () => {
      const { page } = await openSignedIn(browser, playing, playing.apiKey, '/console/playground');
      await page.getByLabel('Message', { exact: true }).fill(play('say One', 'fail upstream_error 500'));
      await page.keyboard.press('Enter');
      await page.getByRole('region', { name: 'Answer of first' }).getByRole('alert').waitFor();
    });

    it('plays speech, and sees its waveform and its time to the first byte', async () => {
      const { page, complaints } = await openSignedIn(
        browser,
        parley,
        parley.apiKey,
        '/console/playground/speech',
      );
      await page.getByLabel('Voice').selectOption('slt');
      await page.getByRole('button', { name: 'Speak' }).click();
      await page.getByText('to the first byte').waitFor();
      await expect.poll(() => page.locator('canvas').getAttribute('data-drawn')).toBe('true');
      await expect
        .poll(() => page.evaluate<number>('document.querySelector("audio").duration'))
        .toBeGreaterThan(1);
      expect(complaints).toEqual([]);
    });

    it('transcribes a recording, with each word at its time, and saves captions', async () => {
      const { page, complaints } = await openSignedIn(
        browser,
        playing,
        playing.apiKey,
        '/console/playground/transcription',
      );
      const file = { name: 'hello.wav', mimeType: 'audio/wav', buffer: recording('say hello', 'say there') };
      await page.getByLabel('Choose a file').setInputFiles(file);
      await page.locator('.words').getByRole('button', { name: 'there' }).waitFor();
      const srt = await saved(page, () => page.getByRole('button', { name: 'Save as srt' }).click());
      expect(srt.name).toBe('hello.srt');
      expect(srt.text).toMatch(/^1\n00:00:00,000 --> 00:00:00,250\nhello\n\n2\n/);
      const vtt = await saved(page, () => page.getByRole('button', { name: 'Save as vtt' }).click());
      expect(vtt.text).toMatch(/^WEBVTT\n\n00:00:00\.000 --> /);
      expect(complaints).toEqual([]);
    });

    it('refuses a file over 4 MB before it is sent', async () => {
      const { page } = await openSignedIn(
        browser,
        playing,
        playing.apiKey,
        '/console/playground/transcription',
      );
      const buffer = Buffer.alloc(4_194_305);
      await page
        .getByLabel('Choose a file')
        .setInputFiles({ name: 'long.wav', mimeType: 'audio/wav', buffer });
      await expect.poll(() => page.getByRole('alert').textContent()).toContain('larger than 4 MB');
    });

    it('records with the microphone', async () => {
      const { page } = await openSignedIn(
        browser,
        parley,
        parley.apiKey,
        '/console/playground/transcription',
      );
      await page.getByRole('button', { name: 'Record' }).click();
      const stop = page.getByRole('button', { name: /Stop recording \([1-9]/ });
      await stop.waitFor();
      await stop.click();
      await page.getByText('to transcribe').waitFor();
    });
  },
);
