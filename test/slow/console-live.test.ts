/** The playground transcribes a microphone live. Chromium plays a recording as its microphone. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import type { RequestId } from '../../src/core/values/ids.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { shell } from '../clients/shell.ts';
import { missingPrograms, speak, wavFile } from '../support/audio-files.ts';
import { violations } from '../support/axe-violations.ts';
import { launchBrowser, missingMicrophone, openSignedIn, untrustedHost } from '../support/console-browser.ts';
import { fakeTranscription, withFakes } from '../support/fake-engines.ts';
import { Ear } from '../support/live-ear.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { scratchPath } from '../support/scratch-path.ts';

const missing = missingMicrophone ?? missingHearing() ?? missingPrograms('flite');
/** The recogniser understands every word of them. */
const sentences = ['please turn on the light', 'thank you very much'] as const;
const path = '/console/playground/live';
const conversation = '/console/playground/conversation';
const folder = scratchPath('live');

let browser: Browser;
let parley: Parley;
/** A server without conversations. */
let silent: Parley;
/** A server whose recogniser understands what a test says. */
let scripted: Parley;
const ear = new Ear();

beforeAll(async () => {
  if (missing !== undefined) return;
  const silence = new Int16Array(16_000);
  const spoken = await Promise.all(sentences.map((sentence) => speak(sentence)));
  const samples = [silence, ...spoken.flatMap((part) => [part, silence])].flatMap((part) => [...part]);
  const file = join(folder, 'speech.wav');
  writeFileSync(file, wavFile(Int16Array.from(samples)));
  // What the code of the page reads: each sample becomes three of two.
  const raised = samples.flatMap((sample, at) =>
    at % 2 === 0 ? [sample, (sample + (samples[at + 1] ?? 0)) >> 1, samples[at + 1] ?? 0] : [],
  );
  writeFileSync(join(folder, 'speech.pcm'), Buffer.from(Int16Array.from(raised).buffer));
  browser = await launchBrowser({ recording: file });
  const pages = new Map(Object.entries(await consoleFiles()));
  parley = await startParley({ pages });
  silent = await startParley({ pages, settings: { realtime: [] } });
  const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
  scripted = await startParley({ pages, engines: withFakes({ transcription }) });
});
afterAll(async () => {
  if (missing !== undefined) return;
  await browser.close();
  await Promise.all([parley.close(), scripted.close(), silent.close()]);
});

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const turns = (page: Page) => page.getByRole('log').locator('article > p:first-child');
const spoken = (page: Page) => page.locator('p.spoken');

async function start(page: Page): Promise<void> {
  await button(page, 'Start').click();
  await page.getByRole('status').getByText('Listening').waitFor();
}

/** The records of turns, the oldest first. */
async function turnRecords(accountId = parley.accountId) {
  const { items } = await parley.app.store.usage.list(
    { accountId, operation: 'transcription' },
    { size: 100, after: undefined },
  );
  return items.filter(({ audioMsIn }) => audioMsIn !== undefined && audioMsIn > 0).reverse();
}

describe.skipIf(missing)(`live transcription in the console${missing ? `: ${missing}` : ''}`, () => {
  it('shows what the microphone hears, turn by turn, with the fair use of its records', async () => {
    const { page, complaints } = await openSignedIn(browser, parley, parley.apiKey, path);
    await page.getByLabel('Language').selectOption('en');
    await start(page);
    const level = () => page.evaluate<number>('document.querySelector(".level").value');
    await expect.poll(level).toBeGreaterThan(0.3);
    await expect
      .poll(() => turns(page).allTextContents())
      .toEqual([sentences[0], expect.stringMatching(/very much$/)]);
    expect(await page.getByRole('log').getAttribute('lang')).toBe('en');
    await expect.poll(() => page.getByText('units of fair use').count()).toBe(2);
    const records = await turnRecords();
    expect(records.map(({ state, wire }) => [state, wire])).toEqual([
      ['ok', 'websocket'],
      ['ok', 'websocket'],
    ]);
    for (const [index, { id, fairUseUnits }] of records.entries()) {
      const turn = page.getByRole('log').locator('article').nth(index);
      expect(await turn.textContent()).toContain(`${fairUseUnits} units of fair use`);
      expect(await turn.getByRole('link', { name: 'Record' }).getAttribute('href')).toContain(id);
    }
    await button(page, 'Stop').click();
    await button(page, 'Start').waitFor();
    await expect.poll(() => level()).toBe(0);
    expect(complaints).toEqual([]);
  });

  it('is used by the keyboard, shows words before a turn ends, and waits for its text after the stop', async () => {
    const { page } = await openSignedIn(browser, scripted, scripted.apiKey, path);
    const text = Promise.withResolvers<void>();
    ear.goesOn = text.promise;
    await button(page, 'Start').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => ear.turns.length).toBe(1);
    for (const partial of ['go', 'go on', 'go on now', 'go on now']) ear.turns[0]?.options.onPartial(partial);
    await expect.poll(() => spoken(page).first().textContent()).toContain('go on');
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Enter');
    await page.getByText('Waiting for the last words').waitFor();
    expect(await turns(page).count()).toBe(0);
    text.resolve();
    await expect.poll(() => turns(page).first().textContent()).toMatch(/^heard \d/);
    await button(page, 'Start').waitFor();
    expect(await spoken(page).count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  });

  it.each([
    ['refused', 'Allow it for this page'],
    ['none', 'Connect one, then start again.'],
  ] as const)('says what to do if the microphone is %s', async (microphone, advice) => {
    const other = await launchBrowser({ microphone });
    const { page, complaints } = await openSignedIn(other, parley, parley.apiKey, path);
    await button(page, 'Start').click();
    await page.getByRole('alert').getByText(advice).waitFor();
    await button(page, 'Start').waitFor();
    expect(complaints).toEqual([]);
    await other.close();
  });

  it('says what to do where browsers give no microphone', async () => {
    const insecure = { baseUrl: parley.baseUrl.replace('127.0.0.1', untrustedHost) };
    const { page } = await openSignedIn(browser, insecure, parley.apiKey, path);
    await page.getByText('Open the console with https://').waitFor();
    expect(await button(page, 'Start').count()).toBe(0);
  });

  it('says so if the key may not call a model', async () => {
    const { page } = await openSignedIn(browser, parley, await parley.newKey(), path);
    await page.getByText('Your key cannot call any model for this: Live.').waitFor();
  });

  it('ends when the page is left, and pays for nothing that was not heard', async () => {
    const before = (await turnRecords()).length;
    const { page } = await openSignedIn(browser, parley, parley.apiKey, path);
    await start(page);
    await page.getByRole('link', { name: 'Chat' }).click();
    const open = async () => {
      const { items } = await parley.app.store.usage.list(
        { state: 'started' },
        { size: 9, after: undefined },
      );
      return items.length;
    };
    await expect.poll(open).toBe(0);
    expect((await turnRecords()).slice(before).every(({ state }) => state === 'cancelled')).toBe(true);
  });

  it('shows code that does the same', async () => {
    const { page } = await openSignedIn(browser, parley, parley.apiKey, path);
    await page.getByText('As code').click();
    await page.locator('.code').getByText('TypeScript', { exact: true }).click();
    writeFileSync(join(folder, 'sample.mts'), (await page.locator('.code pre').textContent()) ?? '');
    const env = { PARLEY_API_KEY: parley.apiKey };
    const { stdout } = await shell(`'${process.execPath}' sample.mts`, { cwd: folder, env });
    expect(stdout.split('\n')).toContain(sentences[0]);
  });

  it('converses: shows both sides, plays the answer, and knows its cost', async () => {
    const { page, complaints } = await openSignedIn(browser, parley, parley.apiKey, conversation);
    await start(page);
    await page.getByRole('log').locator('article.model').first().waitFor();
    expect(await turns(page).first().textContent()).toBe(sentences[0]);
    const answer = page.getByRole('log').locator('article.model').first();
    expect(await answer.locator('p').first().textContent()).toMatch(/\w+/);
    await answer.getByText('credits').waitFor();
    const id = (await answer.getByRole('link', { name: 'Record' }).getAttribute('href'))?.split('=')[1] ?? '';
    const { items } = await parley.app.store.usage.list(
      { id: id as RequestId },
      { size: 1, after: undefined },
    );
    expect(items[0]).toMatchObject({ operation: 'chat', wire: 'websocket' });
    const credits = (await answer.locator('.number').getAttribute('title'))?.split(' ')[0];
    expect(BigInt(Math.round(Number(credits) * 1e9))).toBe(items[0]?.cost);
    await button(page, 'Stop').click();
    await button(page, 'Start').waitFor();
    expect(complaints).toEqual([]);
  });

  it('stops the answer at once when the person speaks, and tells the server what was heard', async () => {
    // Sooner or later the person speaks while an answer can be heard.
    const file = join(folder, 'again.wav');
    const said = await speak(sentences[0]);
    writeFileSync(file, wavFile(Int16Array.from([...said, ...new Int16Array(40_000)])));
    const talkative = await launchBrowser({ recording: file, isRepeated: true });
    const { page } = await openSignedIn(talkative, parley, parley.apiKey, conversation);
    const sent: { type: string; audio_end_ms?: number }[] = [];
    page.on('websocket', (socket) => {
      socket.on('framesent', ({ payload }) => sent.push(JSON.parse(String(payload))));
    });
    await page.getByLabel('Instructions').fill('Be friendly.');
    await start(page);
    await page.getByText('interrupted').first().waitFor();
    expect(sent[0]).toMatchObject({ type: 'session.update', session: { instructions: 'Be friendly.' } });
    // An answer may be interrupted before any of it is heard.
    await expect.poll(() => sent.some(({ audio_end_ms = 0 }) => audio_end_ms > 0)).toBe(true);
    expect(await violations(page)).toEqual([]);
    await button(page, 'Interrupt').click();
    await expect.poll(() => sent.filter(({ type }) => type.endsWith('.truncate')).length).toBeGreaterThan(1);
    await button(page, 'Stop').click();
    await button(page, 'Start').waitFor();
    await talkative.close();
  });

  it('says so if the server offers no conversations', async () => {
    const { page } = await openSignedIn(browser, silent, silent.apiKey, conversation);
    await button(page, 'Start').click();
    await page.getByRole('alert').getByText('offers no conversations').waitFor();
    await button(page, 'Start').waitFor();
  });

  it('says why the server ends a session, and keeps the text', async () => {
    const { page } = await openSignedIn(browser, parley, parley.apiKey, path);
    await start(page);
    await expect.poll(() => turns(page).count()).toBeGreaterThan(0);
    parley.app.services.realtime.drain();
    await page.getByRole('alert').getByText('The server is stopping').waitFor();
    expect(await turns(page).first().textContent()).toBe(sentences[0]);
    await button(page, 'Start').waitFor();
  });
});
