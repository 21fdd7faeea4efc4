/** The playground shows its requests as code. Each sample is run as it is shown. */
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consoleFiles } from '../../scripts/console/files.mjs';
import { readPage } from '../clients/page.ts';
import { missingFromPython, python } from '../clients/python/debian.ts';
import { mustRun, shell } from '../clients/shell.ts';
import { play, playingEngines, recording } from '../conformance/play.ts';
import { missingPrograms } from '../support/audio-files.ts';
import { launchBrowser, missingBrowser, openConsole, openSignedIn } from '../support/console-browser.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { scratchPath } from '../support/scratch-path.ts';
import { installPython } from './clients/install-python.ts';

const sdks = await installPython('python', 10);
const missingGrpc = missingFromPython();
const missingGo = missingPrograms('gofmt');
const price = { input: 1, output: 2 };
const modules = new URL('../node_modules', import.meta.url).pathname;

interface Language {
  readonly name: string;
  /** The reason why it cannot run on this machine. */
  readonly missing?: string | undefined;
  readonly file: string;
  /** The command that runs the file. */
  readonly run: (file: string) => string;
}

const languages: readonly Language[] = [
  { name: 'curl', file: 'sample.sh', run: (file) => `sh -e ${file}` },
  { name: 'TypeScript', file: 'sample.mts', run: (file) => `'${process.execPath}' ${file}` },
  {
    name: 'Python',
    file: 'sample.py',
    missing: 'missing' in sdks ? sdks.missing : undefined,
    run: (file) => ('folder' in sdks ? `'${join(sdks.folder, 'venv/bin/python')}' ${file}` : ''),
  },
  {
    name: 'gRPC in Python',
    file: 'sample-grpc.py',
    missing: missingGrpc,
    run: (file) => `PYTHONPATH=client/gen ${python} ${file}`,
  },
];

const models = [
  { id: 'talks', type: 'chat', engine: 'builtin', price, contextTokens: 8_000 } as const,
  { id: 'speaks', type: 'speech', engine: 'builtin' } as const,
  { id: 'hears', type: 'transcription', engine: 'builtin' } as const,
];

let browser: Browser;
let parley: Parley;
let page: Page;
const home = scratchPath('code');

beforeAll(async () => {
  if (missingBrowser !== undefined) return;
  browser = await launchBrowser();
  const pages = new Map(Object.entries(await consoleFiles()));
  parley = await startParley({ pages, engines: playingEngines(), settings: { models } });
  page = (await openSignedIn(browser, parley, parley.apiKey)).page;
  symlinkSync(modules, join(home, 'node_modules'));
  writeFileSync(join(home, 'hello.wav'), recording('say hello', 'say there'));
  if (missingGrpc !== undefined) return;
  mkdirSync(join(home, 'client'));
  for (const step of ['take', 'generate'])
    await mustRun(readPage('python').command(step), { env: { HOME: home } });
});
afterAll(async () => {
  if (missingBrowser !== undefined) return;
  await browser.close();
  await parley.close();
});

const visit = (path: string) => page.goto(`${new URL(parley.baseUrl).origin}/console/playground${path}`);

/** Writes the sample of the page in a language to a file. */
async function take({ name, file }: Pick<Language, 'name' | 'file'>): Promise<void> {
  const code = page.locator('.code');
  if (!(await code.locator('pre').isVisible())) await page.getByText('As code').click();
  await code.getByText(name, { exact: true }).click();
  await code.getByRole('radio', { name, exact: true, checked: true }).waitFor({ state: 'attached' });
  writeFileSync(join(home, file), `${await code.locator('pre').textContent()}\n`);
}

/** Runs the sample of the page in a language, and returns its output. */
async function run(language: Language): Promise<string> {
  await take(language);
  const env = { PARLEY_API_KEY: parley.apiKey, PYTHONDONTWRITEBYTECODE: '1' };
  const { stdout, stderr, code } = await shell(language.run(language.file), { cwd: home, env });
  expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
  return stdout;
}

for (const { name, missing } of [...languages, { name: 'gRPC in Go', missing: missingGo }]) {
  if (missing !== undefined) process.stderr.write(`NOT TESTED: code in ${name} (${missing})\n`);
}

describe.skipIf(missingBrowser !== undefined).each(languages)('the code in $name', (language) => {
  const works = it.skipIf(language.missing !== undefined);

  works('chats', async () => {
    await visit('');
    await page.getByLabel('Message', { exact: true }).fill(play('say Good', 'say  "morning".'));
    const printed = await run(language);
    const isRaw = language.name === 'curl';
    expect(printed).toContain(isRaw ? 'data: [DONE]' : 'Good "morning".');
  });

  works('speaks', async () => {
    await visit('/speech');
    await page.getByLabel('Voice').selectOption('one');
    await page.getByLabel('Text').fill(play("say It's", 'say  a "word".'));
    const file = join(home, 'speech.mp3');
    rmSync(file, { force: true });
    await run(language);
    expect(statSync(file).size).toBeGreaterThan(0);
    expect(readFileSync(file, 'latin1')).not.toContain('error');
  });

  works('transcribes', async () => {
    await visit('/transcription');
    await page.getByLabel('Choose a file').setInputFiles(join(home, 'hello.wav'));
    await page.locator('.words').waitFor();
    expect(await run(language)).toContain('hello there');
  });
});

/** The Go page has another program, which is compiled and run. */
describe.skipIf(missingBrowser !== undefined)('the code in Go', () => {
  it.skipIf(missingGo !== undefined).each(['', '/speech', '/transcription'])(
    "is formatted like Go's own tool: playground%s",
    async (path) => {
      await visit(path);
      await take({ name: 'gRPC in Go', file: 'sample.go' });
      const { code, stdout, stderr } = await shell('gofmt -l sample.go', { cwd: home });
      expect([code, stdout, stderr]).toEqual([0, '', '']);
    },
  );
});

describe.skipIf(missingBrowser !== undefined)('the quick start of /docs', () => {
  let plain: Parley;
  let docs: Page;
  beforeAll(async () => {
    plain = await startParley({ pages: new Map(Object.entries(await consoleFiles())), settings: { models } });
    docs = (await openSignedIn(browser, plain, plain.apiKey)).page;
  });
  afterAll(() => plain.close());

  it.each(languages.slice(0, 3))(
    'plays its three calls in $name',
    async ({ name, missing, file, run: runFile }) => {
      await docs.goto(`${new URL(plain.baseUrl).origin}/docs`);
      expect(await docs.locator('#start pre').first().textContent()).toBe(plain.baseUrl);
      await docs.getByText(/You are signed in with pk_/).waitFor();
      await docs.locator('.languages').getByText(name, { exact: true }).click();
      const calls = await docs.locator('#start .call pre').allTextContents();
      expect(calls).toHaveLength(3);
      expect(calls.join()).toMatch(/speaks.*speech\.mp3.*talks/s);
      if (missing !== undefined) return;
      rmSync(join(home, 'speech.mp3'), { force: true });
      for (const call of calls) {
        writeFileSync(join(home, file), `${call}\n`);
        const env = { PARLEY_API_KEY: plain.apiKey, PYTHONDONTWRITEBYTECODE: '1' };
        const { stderr, code } = await shell(runFile(file), { cwd: home, env });
        expect([code, code === 0 ? '' : stderr], call).toEqual([0, '']);
      }
      expect(statSync(join(home, 'speech.mp3')).size).toBeGreaterThan(1_000);
    },
  );

  it('says how to get a key where nobody is signed in', async () => {
    const { page: fresh } = await openConsole(browser, plain, '/docs');
    await fresh.getByText('Get one: sign in to the console', { exact: false }).waitFor();
    expect(await fresh.locator('#start .call pre').first().textContent()).toContain('"flite"');
    await fresh.context().close();
  });
});
