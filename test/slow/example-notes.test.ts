/** `examples/apps/notes`: a person records a note in Chromium, which plays a recording as its microphone. */
import { writeFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { joinSamples, missingPrograms, speak, wavFile } from '../support/audio-files.ts';
import { violations } from '../support/axe-violations.ts';
import { scratchFolder } from '../support/command-line.ts';
import { launchBrowser, missingMicrophone, openConsole } from '../support/console-browser.ts';
import { type ExampleProgram, startExample } from '../support/example-program.ts';
import { type Parley, startParley } from '../support/parley.ts';

const missing = missingMicrophone ?? missingHearing() ?? missingPrograms('flite');
const program = 'examples/apps/notes/main.ts';

describe.skipIf(missing !== undefined)(`the voice notes ${missing ?? ''}`, () => {
  const folder = scratchFolder();
  let parley: Parley;
  let browser: Browser;
  let notes: ExampleProgram;
  beforeAll(async () => {
    const samples = joinSamples(500, await speak('please turn on the light'), 500);
    writeFileSync(folder.file('speech.wav'), wavFile(samples));
    parley = await startParley();
    const env = { OPENAI_BASE_URL: parley.baseUrl, OPENAI_API_KEY: parley.apiKey };
    notes = await startExample(program, env);
    browser = await launchBrowser({ recording: folder.file('speech.wav'), isRepeated: true });
  });
  afterAll(async () => {
    await browser.close();
    await notes.close();
    await parley.close();
    folder.remove();
  });

  const open = () => openConsole(browser, { baseUrl: notes.origin }, '/');
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
  const texts = (page: Page) => page.locator('article p:nth-child(2)');

  it('writes down what the microphone hears, reads it aloud, summarises it and keeps it', async () => {
    const { page, complaints } = await open();
    await button(page, 'Record').click();
    await button(page, 'Stop').waitFor();
    // The sentence and the silence around it last 3 seconds.
    const startedMs = Date.now();
    await expect.poll(() => Date.now() - startedMs).toBeGreaterThan(4_000);
    await button(page, 'Stop').click();
    await expect.poll(() => texts(page).allTextContents()).toEqual([expect.stringContaining('the light')]);
    await button(page, 'Read aloud').click();
    const seconds = () => page.evaluate<number>('document.querySelector("audio").duration || 0');
    await expect.poll(seconds).toBeGreaterThan(1);
    await button(page, 'Summarise').click();
    await expect.poll(() => page.locator('article p:nth-child(3)').textContent()).toMatch(/\w+/);
    expect(await violations(page)).toEqual([]);
    const shown = await page.locator('article').allInnerTexts();
    await page.reload();
    await texts(page).waitFor();
    expect(await page.locator('article').allInnerTexts()).toEqual(shown);
    await button(page, 'Delete').click();
    await expect.poll(() => texts(page).count()).toBe(0);
    expect(complaints).toEqual([]);
    const { items } = await parley.app.store.usage.list({}, { size: 9, after: undefined });
    const records = items.map(({ operation, state }) => [operation, state]).reverse();
    expect(records).toEqual([
      ['transcription', 'ok'],
      ['speech', 'ok'],
      ['chat', 'ok'],
    ]);
  });

  it('takes a file, and says what is wrong with one that is no recording', async () => {
    const { page } = await open();
    await page.getByLabel('choose a recording').setInputFiles(folder.file('speech.wav'));
    await expect.poll(() => texts(page).allTextContents()).toEqual([expect.stringContaining('the light')]);
    writeFileSync(folder.file('text.wav'), 'not a recording');
    await page.getByLabel('choose a recording').setInputFiles(folder.file('text.wav'));
    await page
      .getByRole('alert')
      .getByText(/format|audio/)
      .waitFor();
    expect(await texts(page).count()).toBe(1);
  });

  it('speaks notes that are longer than one request', async () => {
    const { page } = await open();
    const text = 'turn on the light. '.repeat(250);
    const note = JSON.stringify([{ id: '1', at: '2026-11-10T12:00:00Z', text }]);
    await page.evaluate(`localStorage.setItem('parley-notes', ${JSON.stringify(note)})`);
    await page.reload();
    await button(page, 'Read aloud').click();
    await expect.poll(() => page.locator('audio').isVisible()).toBe(true);
    const { items } = await parley.app.store.usage.list(
      { operation: 'speech' },
      { size: 2, after: undefined },
    );
    const characters = items.map((record) => record.characters ?? 0);
    expect(characters.every((count) => count <= 4_000)).toBe(true);
    expect(characters.reduce((sum, count) => sum + count)).toBeGreaterThan(4_600);
  });

  it('keeps the key, and forwards nothing else', async () => {
    const pages = await Promise.all(
      ['/', '/page.ts', '/calls.ts', '/models'].map(async (path) => {
        const answer = await fetch(notes.origin + path);
        return [answer.status, (await answer.text()).includes(parley.apiKey)];
      }),
    );
    expect(pages).toEqual(Array(4).fill([200, false]));
    const post = async (path: string, body: string, origin = notes.origin) => {
      const headers = { origin, 'content-type': 'application/json' };
      return (await fetch(notes.origin + path, { method: 'POST', body, headers })).status;
    };
    const speech = JSON.stringify({ model: 'flite', voice: 'slt', input: 'Hello.' });
    expect(await post('/audio/speech', speech)).toBe(200);
    expect(await post('/audio/speech', speech, 'https://example.com')).toBe(403);
    expect(await post('/audio/speech', ' '.repeat(65_537))).toBe(413);
    expect(await post('/keys', '{}')).toBe(404);
    expect((await fetch(`${notes.origin}/account`)).status).toBe(404);
  });

  it('does not start without a key', async () => {
    await expect(startExample(program, {})).rejects.toThrow('OPENAI_API_KEY must be');
  });
});
