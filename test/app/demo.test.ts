import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type App, createApp } from '../../src/app/create-app.ts';
import { createDemo } from '../../src/app/demo.ts';
import { readFirstRun } from '../../src/app/first-run.ts';
import { loadConfig } from '../../src/config/config.ts';
import { isWellFormedKey } from '../../src/core/values/key-secret.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import {
  type Folder,
  noTerminal,
  parley,
  printed,
  type ServingAtTerminal,
  scratchFolder,
  serve,
  serveAtTerminal,
} from '../support/command-line.ts';
import { wordsOf } from '../support/word-errors.ts';

const sentence = 'good morning this is the voice of your own server and it is ready to work';

const noRecogniser = missingHearing();
const noCurl = spawnSync('curl', ['--version']).error === undefined ? undefined : 'curl is not installed';

/** The commands that the banner shows. */
function commandsOf(banner: string): string[] {
  return banner
    .split('\n')
    .filter((line) => /^ {5}\S/.test(line))
    .map((line) => line.trim());
}

function shell(command: string, folder: Folder, path = process.env['PATH']): string {
  return execFileSync('sh', ['-c', command], {
    cwd: folder.path,
    env: { PATH: path },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

/** The text of a streamed answer. */
function textOf(events: string): string {
  const data = events.split('\n\n').filter((event) => event.startsWith('data: {'));
  return data.map((event) => JSON.parse(event.slice(6)).choices[0]?.delta.content ?? '').join('');
}

const where = noTerminal === undefined ? '' : ` (skipped: ${noTerminal})`;

describe.skipIf(noTerminal)(`parley serve --demo on an empty data folder, at a terminal${where}`, () => {
  const folder = scratchFolder();
  const firstRun = () => JSON.parse(readFileSync(folder.file('data/first-run.json'), 'utf8'));
  let server: ServingAtTerminal;
  let banner: string;
  beforeAll(async () => {
    server = await serveAtTerminal(['--demo'], { cwd: folder.path });
    banner = server.shown;
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });

  it('keeps the keys in first-run.json, for its owner only', () => {
    const file = folder.file('data/first-run.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(firstRun()).toEqual({
      baseUrl: expect.stringMatching(/^http:/),
      apiKey: expect.stringMatching(/^pk_[0-9a-z]{57}$/),
      adminKey: expect.stringMatching(/^pa_[0-9a-z]{57}$/),
    });
  });

  it('shows the address, the keys, and the file that keeps them', () => {
    const { baseUrl, apiKey, adminKey } = firstRun();
    for (const part of [
      baseUrl,
      apiKey,
      adminKey,
      'Both keys are in data/first-run.json, which only you can read.',
    ]) {
      expect(banner).toContain(part);
    }
  });

  it('names the console if one has been built', async () => {
    const url = new URL('/console', firstRun().baseUrl).href;
    expect(banner.includes(`${url}\n`)).toBe((await fetch(url)).ok);
  });

  it('creates an account on trial with ten credits', async () => {
    const account = JSON.parse(await printed(['account', 'show', 'demo', '--json'], { cwd: folder.path }));
    expect(account).toMatchObject({ balance: '10', subscription: { state: 'trial' } });
  });

  describe.skipIf(noCurl !== undefined)(
    `shows commands that work when copied${noCurl ? ` (skipped: ${noCurl})` : ''}`,
    () => {
      it('to speak to a file', () => {
        shell(commandsOf(banner)[0] ?? '', folder);
        const magic = readFileSync(folder.file('hello.mp3')).readUInt16BE(0);
        expect(magic & 0xffe0).toBe(0xffe0);
      });

      it.skipIf(noRecogniser !== undefined)(
        `to transcribe that file, word for word${noRecogniser ? ` (skipped: ${noRecogniser})` : ''}`,
        () => {
          const usage = { type: 'duration', seconds: expect.any(Number) };
          const { text, ...rest } = JSON.parse(shell(commandsOf(banner)[1] ?? '', folder));
          expect(wordsOf(text)).toEqual(wordsOf(sentence));
          expect(rest).toEqual({ usage });
        },
      );

      it('to chat as a stream', () => {
        const answer = shell(commandsOf(banner).at(-1) ?? '', folder);
        expect(answer.trimEnd().endsWith('data: [DONE]')).toBe(true);
        expect(textOf(answer)).toMatch(/\w+.*[.?!]$/);
      });
    },
  );
});

/** Creates a folder with links to all programs of PATH except curl. */
function linkAllButCurl(bin: string): void {
  mkdirSync(bin);
  for (const directory of (process.env['PATH'] ?? '').split(delimiter).filter((path) => existsSync(path))) {
    for (const name of readdirSync(directory)) {
      const isWanted = name !== 'curl' && !lstatSync(join(bin, name), { throwIfNoEntry: false });
      if (isWanted) symlinkSync(join(directory, name), join(bin, name));
    }
  }
}

describe.skipIf(noTerminal)(`parley serve --demo without curl${where}`, () => {
  const folder = scratchFolder();
  const dataDir = "it's here";
  let server: ServingAtTerminal;
  beforeAll(async () => {
    linkAllButCurl(folder.file('bin'));
    const program = new URL('../../src/main.ts', import.meta.url).pathname;
    writeFileSync(folder.file('parley'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, {
      mode: 0o755,
    });
    server = await serveAtTerminal(['--demo', '--data-dir', dataDir], {
      cwd: folder.path,
      env: { PATH: folder.file('bin') },
    });
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });

  it('shows commands of Parley itself that work when copied', () => {
    expect(server.shown).toContain("Both keys are in it's here/first-run.json");
    const [speak = '', ...others] = commandsOf(server.shown);
    expect(speak).toMatch(/^\.\/parley speak /);
    shell(speak, folder);
    expect(statSync(folder.file('hello.mp3')).size).toBeGreaterThan(10_000);
    const answers = others.map((command) => shell(command, folder));
    expect(answers.at(-1)).toMatch(/\w+.*[.?!]\n$/);
    if (noRecogniser === undefined) expect(wordsOf(answers[0] ?? '')).toEqual(wordsOf(sentence));
  });
});

describe('parley serve --demo without a terminal', () => {
  const folder = scratchFolder();
  afterAll(() => folder.remove());

  it('names the file with the keys, and shows none', async () => {
    const server = await serve(['--demo'], { cwd: folder.path });
    await server.close();
    expect(server.stdout()).toBe(
      `\n  Parley is ready at ${server.baseUrl}\n  The keys of the first start are in data/first-run.json.\n\n`,
    );
    const { apiKey, adminKey } = JSON.parse(readFileSync(folder.file('data/first-run.json'), 'utf8'));
    expect([apiKey, adminKey].filter((key) => server.stderr().includes(key))).toEqual([]);
  });
});

describe('parley serve --demo on a used data folder', () => {
  const folder = scratchFolder();
  afterAll(() => folder.remove());

  it('names the file with the keys of the first start, and shows none', async () => {
    const first = await serve(['--demo'], { cwd: folder.path });
    const keys = readFileSync(folder.file('data/first-run.json'), 'utf8');
    await first.close();
    const second = await serve(['--demo'], { cwd: folder.path });
    await second.close();
    expect(second.stdout()).toBe(
      `\n  Parley is ready at ${second.baseUrl}\n  The keys of the first start are in data/first-run.json.\n\n`,
    );
    const file = folder.file('data/first-run.json');
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ ...JSON.parse(keys), baseUrl: second.baseUrl });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('adds no demo to other accounts', async () => {
    const flags = ['--data-dir', folder.file('own')];
    await printed(['account', 'create', 'mine', ...flags]);
    const server = await serve(['--demo', ...flags]);
    await server.close();
    expect(server.stdout()).toContain('already has accounts or keys, so no demo was added');
    const { stdout } = await parley(['account', 'list', ...flags]);
    expect(stdout).not.toContain('demo');
  });
});

describe('an interrupted first start', () => {
  const folder = scratchFolder();
  let app: App;
  beforeAll(async () => {
    const settings = { server: { port: 0 }, dataDir: folder.file('data'), log: { level: 'silent' } };
    app = await createApp(loadConfig({ env: {}, overrides: settings }));
  });
  afterAll(async () => {
    await app.close();
    folder.remove();
  });
  const baseUrl = 'http://127.0.0.1:8080/api/v1';
  const start = (stepsMax: number) => {
    const { store, services } = app;
    return createDemo(
      { store, services: { accounts: endingAfter(stepsMax, services.accounts) } },
      { dataDir: folder.file('data'), baseUrl },
    );
  };

  it('is completed by the next one, and leaves no unknown key', async () => {
    let steps = 0;
    const cutShort = () => start(steps).catch((error: unknown) => error);
    for (; (await cutShort()) === ended; steps++) expect(readFirstRun(folder.file('data'))).toBeUndefined();
    expect(steps).toBeGreaterThan(5);
    const { apiKey = '', adminKey = '' } = readFirstRun(folder.file('data')) ?? {};
    expect([apiKey, adminKey].map(isWellFormedKey)).toEqual([true, true]);
    const own = await fetch(`${app.baseUrl}/keys`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect(own.status).toBe(200);
    const list = (path: string) =>
      fetch(app.baseUrl + path, { headers: { authorization: `Bearer ${adminKey}` } }).then(
        (answer) => answer.json() as Promise<Record<string, { revoked_at?: string }[]>>,
      );
    for (const path of ['/admin/keys', '/admin/accounts/demo/keys']) {
      const { keys = [] } = await list(path);
      expect(keys.filter(({ revoked_at }) => revoked_at === undefined).length).toBe(1);
    }
    expect(await app.store.accounts.find('demo')).toMatchObject({
      balance: 10_000_000_000n,
      subscription: { trial: { startsAtMs: expect.any(Number) } },
    });
    expect(await start(100)).toBe(undefined);
  });
});

const ended = new Error('the process has ended');

/** Fails after this many steps, as if the process had ended there. */
function endingAfter<T extends object>(stepsMax: number, admin: T): T {
  let steps = 0;
  return new Proxy(admin, {
    get: (target, name) => {
      const operation: unknown = Reflect.get(target, name);
      if (typeof operation !== 'function') return operation;
      return (...args: unknown[]) =>
        steps++ < stepsMax ? Reflect.apply(operation, target, args) : Promise.reject(ended);
    },
  });
}
