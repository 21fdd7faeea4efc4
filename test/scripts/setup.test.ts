/** Set-up of a clone: its decisions and messages. It does nothing twice. */
import { execFile, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { cacheFolder, isHearingBuilt } from '../../scripts/setup/hearing.mjs';
import { isMoonshineFetched, moonshineCache } from '../../scripts/setup/moonshine.mjs';
import { explainNpmFailure, isInstalled, isNewEnough, requiredVersion } from '../../scripts/setup/npm.mjs';
import { explainAptFailure, explainMissing, packages } from '../../scripts/setup/programs.mjs';
import { until } from '../support/command-line.ts';
import { scratchPath } from '../support/scratch-path.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = scratchPath('setup');

/** The files, besides programs on PATH, that show set-up an installed compiler. */
const hasCompiler = Object.values(packages.compiler).every(
  (sign) => !sign.startsWith('/') || existsSync(sign),
);

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
  ] as const)('accepts %s where %s is required: %s', ([version, required, expected]) => {
    expect(isNewEnough(version, required)).toBe(expected);
  });

  it.for(['linux-x64', 'linux-arm64'])('has a package for %s, locked to a hash', (platform) => {
    const file = join(root, 'scripts', 'runtime', platform, 'package-lock.json');
    const locked = JSON.parse(readFileSync(file, 'utf8')).packages[`node_modules/node-${platform}`];
    expect(locked.integrity).toMatch(/^sha512-/);
    expect(isNewEnough(locked.version, requiredVersion)).toBe(true);
  });
});

describe('the dependencies', () => {
  const locked = { version: '1.0.0', integrity: 'sha512-a' };
  const wanted = { '': {}, 'node_modules/a': locked };

  it.for([
    ['the same', { 'node_modules/a': locked }, true],
    ['one more', { 'node_modules/a': locked, 'node_modules/b': locked }, true],
    ['one less', {}, false],
    ['another version', { 'node_modules/a': { ...locked, version: '1.0.1' } }, false],
    ['other content', { 'node_modules/a': { ...locked, integrity: 'sha512-b' } }, false],
    ['one for another platform', { 'node_modules/a': locked, 'node_modules/b': { os: ['aix'] } }, false],
    ['one for all but one platform', { 'node_modules/a': locked, 'node_modules/b': { os: ['!aix'] } }, true],
  ] satisfies [string, Parameters<typeof isInstalled>[1], boolean][])(
    'with %s installed are complete: %s',
    ([, installed, expected]) => {
      expect(isInstalled(wanted, installed)).toBe(expected);
    },
  );

  it('may lack an optional package', () => {
    const optional = { ...wanted, 'node_modules/b': { ...locked, optional: true } };
    expect(isInstalled(optional, wanted)).toBe(true);
  });
});

describe('a failure', () => {
  it.for([
    ['npm error code EAI_AGAIN', 'could not reach its registry: check the network and the proxy settings'],
    ['npm ERR! network request to https://registry.example failed', 'could not reach its registry'],
    ['npm error code EUSAGE\nnpm error `npm ci` can only install packages when', 'do not agree'],
    ['npm error code EINTEGRITY', 'other content than this project has pinned'],
    ['npm error code ENOSPC', 'The disk is full'],
    ['npm error code EACCES\nnpm error path /home/ada/.npm', 'may not write here'],
    ['npm error code SELF_SIGNED_CERT_IN_CHAIN', 'does not trust the registry'],
    ['npm error code E401', 'check its login'],
    ['npm error code E404', 'lacks a package'],
    ['npm error something new', 'npm failed: see its message below'],
    ['spawn npm ENOENT', 'npm is not on PATH: install npm'],
  ] as const)('of npm, %s, says what to do', ([output, advice]) => {
    const message = explainNpmFailure(output);
    expect(message).toContain(advice);
    expect(message).toContain('run the command again');
    expect(message).toContain(output.split('\n')[0]);
  });

  it("of apt-get shows apt-get's own errors", () => {
    const output = 'Reading lists\nE: Unable to locate package pocketsphinx\ndone';
    expect(explainAptFailure(output)).toMatch(
      /^apt-get failed.*\n {4}E: Unable to locate package pocketsphinx$/,
    );
  });

  it('to install packages lists the missing ones, the effects, the reason, and the command to run', () => {
    const message = explainMissing(Object.keys(packages.compiler), 'It takes root.');
    const names = Object.keys(packages.compiler);
    expect(message).toContain(`missing: ${names.join(', ')}.`);
    expect(message).toContain('503 engine_unavailable');
    expect(message).toContain('It takes root.');
    expect(message).toContain(`apt-get install -y --no-install-recommends ${names.join(' ')}`);
  });

  it('to install packages for tests does not mention transcription', () => {
    expect(explainMissing(Object.keys(packages.tests))).not.toMatch(/transcription/i);
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
    for (const name of ['scripts', 'parley', 'tsconfig.json', 'tsconfig.gen.json']) {
      cpSync(join(root, name), join(clone, name), { recursive: true });
    }
    write('package.json', JSON.stringify({ type: 'module', engines: { node: '>=24.0' } }));
    write('package-lock.json', JSON.stringify({ packages: { '': {} } }));
    write('node_modules/.package-lock.json', JSON.stringify({ packages: {} }));
    mkdirSync(join(clone, 'node_modules', '.bin'));
    for (const name of ['.bin/tsc', '@types', 'undici-types', 'esbuild', '@esbuild']) {
      symlinkSync(join(root, 'node_modules', name), join(clone, 'node_modules', name));
    }
    for (const name of ['console', 'docs', 'proto', 'reference']) mkdirSync(join(clone, name));
    // Such small sources have no pages.
    write('scripts/build-console.mjs', '');
    write('src/main.ts', main);
    write('gen/old.ts', 'export const answer = 42;\n');
    write('gen/schema.ts', 'export {};\n');
  });

  /** A home without the builds of this user. Nothing is fetched. */
  const ownCache = { XDG_CACHE_HOME: join(scratch, 'cache'), SETUP_MOONSHINE: 'none' };
  const run = (program: string, args: string[], cwd = clone, variables = {}) =>
    new Promise<{ exitCode: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(
        program,
        args,
        { cwd, env: { ...process.env, ...ownCache, ...variables } },
        (error, stdout, stderr) => {
          resolve({ exitCode: error?.code ?? 0, stdout, stderr });
        },
      );
    });
  const setup = (command: string, variables = {}) =>
    run(process.execPath, ['scripts/setup.mjs', command], clone, variables);
  const build = () => setup('build');

  it('is built once by two set-ups at the same time, and the third has nothing to do', async () => {
    const both = await Promise.all([build(), build()]);
    expect(both.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const stderr = both.map((one) => one.stderr).join('');
    expect(stderr.match(/Bundling .*\.\.\./g)).toHaveLength(1);
    expect(stderr.match(/Checking the types.*\.\.\./g)).toHaveLength(1);
    expect(await build()).toEqual({ exitCode: 0, stdout: '', stderr: '' });
  });

  it('waits while another set-up works, until that one is killed', async () => {
    rmSync(join(clone, 'dist', '.built'));
    const script = `flock 9; echo locked; exec sleep 60`;
    const holder = spawn('bash', ['-c', `exec 9>.setup/lock; ${script}`], { cwd: clone });
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    const waiting = spawn(process.execPath, ['scripts/setup.mjs', 'build'], { cwd: clone });
    let stderr = '';
    waiting.stderr.on('data', (text) => {
      stderr += text;
    });
    const ended = new Promise((resolve) => waiting.once('close', resolve));
    await until(() => stderr.includes('Waiting for another set-up'));
    expect(stderr).not.toContain('Bundling');
    holder.kill('SIGKILL');
    expect(await ended).toBe(0);
    expect(stderr).toContain('Bundling');
  });

  it('is built again after a change, without the files of removed sources', async () => {
    rmSync(join(clone, 'gen', 'old.ts'));
    expect((await build()).stderr).toMatch(
      /^setup: (Bundling .*\(esbuild\)): takes 4 s \.\.\.\n(.*\n)*setup: \1: \d+\.\d s\n/m,
    );
    expect(readdirSync(join(clone, 'dist', 'src'))).toEqual(['main.js']);
    expect(readdirSync(join(clone, 'dist', 'gen')).sort()).toEqual(['.built', 'schema.d.ts', 'schema.js']);
  });

  it('has a launcher that works from anywhere, through a link, and builds changed sources', async () => {
    const elsewhere = join(scratch, 'elsewhere');
    mkdirSync(elsewhere);
    symlinkSync(join(clone, 'parley'), join(elsewhere, 'talk'));
    write('src/main.ts', `${main}console.log('changed');\n`);
    const { stdout, exitCode } = await run('./talk', ['account', 'a b'], elsewhere);
    expect(stdout).toBe(`${JSON.stringify([elsewhere, 'account', 'a b'])}\nchanged\n`);
    expect(exitCode).toBe(0);
  });

  it('is not built from sources that do not compile', async () => {
    write('src/main.ts', 'const text: string = 1;\n');
    const { exitCode, stderr } = await build();
    expect(exitCode).toBe(1);
    expect(stderr).toContain('The sources do not compile. Fix them and run the command again.');
    expect(stderr).toContain('src/main.ts(1,7)');
    expect((await build()).exitCode).toBe(1);
  });

  /** A folder for PATH with the programs that set-up itself needs, and with shell scripts instead of the others. */
  function programsIn(name: string, scripts: Record<string, string>): string {
    const folder = join(scratch, name);
    mkdirSync(folder);
    symlinkSync(process.execPath, join(folder, 'node'));
    for (const program of ['find', 'flock', 'env', 'true', 'sh', 'chmod', 'rm'])
      symlinkSync(`/usr/bin/${program}`, join(folder, program));
    for (const [program, script] of Object.entries(scripts))
      writeFileSync(join(folder, program), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return folder;
  }

  it('starts without the Debian packages that may not be installed', async () => {
    write('src/main.ts', main);
    const env = { PATH: programsIn('few-programs', {}), SETUP_PROGRAMS: 'keep' };
    const { exitCode, stderr } = await setup('start', env);
    expect(stderr).toMatch(/^setup: These Debian packages are missing: clang, lld.*503/m);
    expect(stderr).toContain('Why set-up did not install them: SETUP_PROGRAMS=keep forbids it.');
    expect(exitCode).toBe(0);
  });

  it('asks apt-get once a day for packages that it could not install', async () => {
    const asked = join(scratch, 'asked');
    const PATH = programsIn('failing-apt-get', {
      'apt-get': `[ $1 = --version ] && exit; echo "$@" >> ${asked}; echo 'E: Failed to fetch' >&2; exit 100`,
      sudo: 'shift; exec "$@"',
    });
    const outputs = [await setup('start', { PATH }), await setup('start', { PATH })];
    for (const { exitCode, stderr } of outputs) {
      expect(stderr).toContain('apt-get failed. Set-up tries again after a day');
      expect(stderr).toContain('E: Failed to fetch');
      expect(exitCode).toBe(0);
    }
    const installs = / install -y --no-install-recommends --no-remove clang lld/g;
    expect(readFileSync(asked, 'utf8').match(installs)).toHaveLength(1);
  });

  it('gets its dependencies again if npm could not install them', async () => {
    write(
      'package-lock.json',
      JSON.stringify({ lockfileVersion: 3, packages: { '': {}, 'node_modules/a': {} } }),
    );
    const { exitCode, stderr } = await setup('tools', { npm_execpath: '', PATH: '/nowhere' });
    expect(stderr).toMatch(/^setup: Installing all packages .*\.\.\.\nsetup: npm is not on PATH/);
    expect(exitCode).toBe(1);
    expect(existsSync(join(clone, '.setup', 'lock'))).toBe(true);
  });

  const failingNpm = 'echo "npm error code E404" >&2; exit 1';

  it('stops waiting for another set-up when npm has failed', async () => {
    const cache = join(scratch, 'cache', 'parley', 'hearing');
    mkdirSync(cache, { recursive: true });
    const holder = spawn('bash', ['-c', `exec 9>${cache}/lock; flock 9; echo locked; exec sleep 600`]);
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    const PATH = programsIn('failing-npm', { npm: failingNpm });
    const { exitCode, stderr } = await run(process.execPath, ['scripts/setup.mjs', 'tools', 'hear'], clone, {
      npm_execpath: '',
      PATH,
    });
    holder.kill();
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('lacks a package')]);
  });

  it.skipIf(!hasCompiler)('ends the programs of other steps when npm has failed', async () => {
    const started = join(scratch, 'apt-get-started');
    const PATH = programsIn('endless-apt-get', {
      npm: `while [ ! -e ${started} ]; do /bin/sleep 0.1; done; ${failingNpm}`,
      'apt-get': `echo $$ > ${started}; exec /bin/sleep 600`,
      clang: '',
      'wasm-ld': '',
      'dpkg-source': '',
    });
    const { exitCode, stderr } = await run(process.execPath, ['scripts/setup.mjs', 'tools', 'hear'], clone, {
      npm_execpath: '',
      PATH,
    });
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('lacks a package')]);
    expect(stderr).not.toContain('503');
    const pid = Number(readFileSync(started, 'utf8'));
    await until(() => !existsSync(`/proc/${pid}`));
  });

  const modules = () => readdirSync(join(clone, '.hearing')).filter((name) => /wasm$/.test(name));
  const decoder = ['decoder.wasm', 'lame.wasm', 'resampler.wasm'];

  const withoutMoonshine = { moonshine: 'none', expected: [...decoder, 'recogniser.wasm'] };
  const besideMoonshine = { moonshine: moonshineCache(), expected: decoder };

  const unbuilt = isHearingBuilt('recogniser') ? '' : ': set-up could not compile the recogniser';

  it.skipIf(unbuilt !== '').each([withoutMoonshine, ...(isMoonshineFetched() ? [besideMoonshine] : [])])(
    `gets $expected with Moonshine from $moonshine${unbuilt}`,
    async ({ moonshine, expected }) => {
      for (const name of ['.hearing', '.moonshine'])
        rmSync(join(clone, name), { recursive: true, force: true });
      const variables = { XDG_CACHE_HOME: join(cacheFolder(), '..', '..'), SETUP_MOONSHINE: moonshine };
      // The second has nothing to do.
      for (const _ of [1, 2])
        expect(await setup('hear', variables)).toMatchObject({
          exitCode: 0,
          // Another clone may use the cache at the moment.
          stderr: expect.stringMatching(/^(setup: Waiting for another set-up \.\.\.\n)?$/),
        });
      expect(modules().sort()).toEqual([...expected].sort());
      expect(existsSync(join(clone, '.setup', 'hearing-state'))).toBe(false);
    },
  );

  it("keeps npm's cache in the clone if the user's folder is not writable", async () => {
    const PATH = programsIn('showing-npm', { npm: 'echo "$@"; exit 1' });
    const withCache = async (cache: string) =>
      (await setup('tools', { npm_execpath: '', npm_config_cache: cache, PATH })).stderr;
    expect(await withCache('/dev/null/npm')).toContain(`--cache=${join(clone, '.setup', 'npm')}`);
    expect(await withCache(join(scratch, 'npm'))).not.toContain('--cache');
  });

  it('lists the commands if none is named', async () => {
    const { exitCode, stderr } = await setup('');
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /^setup: Name the commands to run: program, start, tools, build, hear, modules, test\./,
    );
  });

  it('leaves no files of set-up in version control', () => {
    const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n');
    expect(ignored).toEqual(
      expect.arrayContaining(['.hearing/', '.moonshine/', '.runtime/', '.setup/', 'dist/', 'node_modules']),
    );
  });
});
