/** The commands and the configuration of the page for users of other servers. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { readPage } from './page.ts';
import { shell } from './shell.ts';

const page = readPage('../coming-from');
const docs = new URL('../../docs/', import.meta.url).pathname;
const text = readFileSync(join(docs, 'coming-from.md'), 'utf8');

describe('docs/coming-from.md', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-coming-'));
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley({ file: join(docs, '../examples/fixed-names.yaml') });
  });
  afterAll(async () => {
    await parley.close();
    rmSync(folder, { recursive: true });
  });

  const run = async (command: string) => {
    const env = { BASE: parley.baseUrl, KEY: parley.apiKey };
    const { code, stdout, stderr } = await shell(page.command(command), { cwd: folder, env });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  const size = (file: string) => readFileSync(join(folder, file)).length;

  it('speaks under OpenAI’s names, and as pcm', async () => {
    await run('openai-speech');
    expect(size('morning.mp3')).toBeGreaterThan(4_000);
    await run('kokoro-pcm');
    expect(size('morning.pcm')).toBeGreaterThan(24_000);
  });

  it.skipIf(missingHearing() !== undefined)('has times of words, and subtitles', async () => {
    const { words } = JSON.parse(await run('openai-words')) as { words: { word: string; start: number }[] };
    expect(words.map(({ word }) => word).join(' ')).toMatch(/morning/);
    expect(words[0]?.start).toBeTypeOf('number');
    expect(await run('openai-vtt')).toMatch(/^WEBVTT\n\n00:00:0\d\.\d{3} --> .*\n.*morning/);
  });

  it('lists voices, and chats', async () => {
    const { voices } = JSON.parse(await run('speaches-voices')) as { voices: { id: string }[] };
    expect(voices.map(({ id }) => id)).toContain('alloy');
    const { choices } = JSON.parse(await run('localai-chat')) as {
      choices: { message: { content: string } }[];
    };
    expect(choices[0]?.message.content).toMatch(/./);
  });

  it('answers in the form of the Messages API', async () => {
    const command = `${page.command('claude-code')}\n${page.command('anthropic-messages')}`;
    const env = { BASE: parley.baseUrl, KEY: parley.apiKey };
    const { code, stdout } = await shell(command, { cwd: folder, env });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'message',
      content: [{ type: 'text', text: expect.stringMatching(/./) }],
    });
  });

  it('has a configuration that is valid', () => {
    const file = join(folder, 'litellm.yaml');
    writeFileSync(file, page.file('litellm.yaml'));
    const { models, engines } = loadConfig({ env: { OPENAI_API_KEY: 'sk-x' }, file });
    expect(models.map(({ id }) => id)).toEqual(['gpt-4o-mini', 'whisper-1']);
    expect(Object.keys(engines)).toEqual(['hosted', 'local']);
  });

  it('names files and parts of pages that are there', () => {
    const links = [...text.matchAll(/\]\(([^)#]+)(?:#[^)]+)?\)/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((link) => !existsSync(join(docs, link)))).toEqual([]);
  });

  it('creates an account with credits and a key', async () => {
    const parley = `${process.execPath} ${join(docs, '../src/main.ts')}`;
    const command = page.command('litellm-key').replaceAll('./parley', parley);
    const env = { PARLEY_DATA_DIR: join(folder, 'data') };
    const { code, stdout } = await shell(command, { cwd: folder, env });
    expect({ code, key: /pk_\w+/.test(stdout) }).toEqual({ code: 0, key: true });
  });
});
