/** Set-up installs packages in steps: those of a running server stay as they are while those of the tests are added. */
import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, realpathSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { scratchPath } from '../support/scratch-path.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const scratch = scratchPath('packages');
const clone = join(scratch, 'clone');
const inClone = (name: string) => join(clone, name);

function write(name: string, content: unknown): void {
  mkdirSync(dirname(inClone(name)), { recursive: true });
  writeFileSync(inClone(name), typeof content === 'string' ? content : JSON.stringify(content));
}

/** Packs a package as a registry does. */
function pack(name: string): string {
  const folder = join(scratch, 'packed', name, 'package');
  mkdirSync(folder, { recursive: true });
  const manifest = { name, version: '1.0.0', type: 'module', exports: { './*': './*' } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'late.js'), `export const name = '${name}';\n`);
  const file = join(scratch, `${name}.tgz`);
  execFileSync('tar', ['-czf', file, '-C', dirname(folder), 'package']);
  return `file:${file}`;
}

function locked(names: { dependencies: string[]; devDependencies?: string[] }) {
  const { dependencies, devDependencies = [] } = names;
  const tables = {
    dependencies: Object.fromEntries(dependencies.map((name) => [name, pack(name)])),
    devDependencies: Object.fromEntries(devDependencies.map((name) => [name, pack(name)])),
  };
  const entries = Object.entries(tables).flatMap(([table, packages]) =>
    Object.entries(packages).map(([name, resolved]) => [
      `node_modules/${name}`,
      { version: '1.0.0', resolved, ...(table === 'devDependencies' && { dev: true }) },
    ]),
  );
  return { tables, lock: { lockfileVersion: 3, packages: { '': tables, ...Object.fromEntries(entries) } } };
}

beforeAll(() => {
  cpSync(join(root, 'scripts'), inClone('scripts'), { recursive: true });
  const own = locked({ dependencies: ['used'], devDependencies: ['checker', 'compiler'] });
  write('package.json', { type: 'module', engines: { node: '>=24.0' }, ...own.tables });
  write('package-lock.json', own.lock);
  const ofTests = locked({ dependencies: ['sdk'] });
  write('test/package.json', { type: 'module', ...ofTests.tables });
  write('test/package-lock.json', ofTests.lock);
  // There is nothing to build.
  for (const script of ['build-program', 'build-console']) write(`scripts/${script}.mjs`, '');
  for (const name of ['src', 'gen', 'console', 'docs', 'proto', 'reference', 'examples'])
    mkdirSync(inClone(name));
  for (const config of ['tsconfig.json', 'tsconfig.gen.json']) write(config, {});
  // No compiler and no apt-get: transcription stays out of this.
  mkdirSync(join(scratch, 'bin'));
  for (const program of ['env', 'find', 'flock', 'npm', 'sh'])
    symlinkSync(realpathOf(program), join(scratch, 'bin', program));
  symlinkSync(process.execPath, join(scratch, 'bin', 'node'));
});

function realpathOf(program: string): string {
  return realpathSync(
    execFileSync('sh', ['-c', `command -v ${program}`])
      .toString()
      .trim(),
  );
}

async function setup(command: string): Promise<string> {
  const env = {
    PATH: join(scratch, 'bin'),
    HOME: scratch,
    SETUP_PROGRAMS: 'keep',
    SETUP_MOONSHINE: 'none',
    npm_config_cache: join(scratch, 'npm'),
    npm_config_offline: 'true',
    // Node 24 can wait for V8's threads forever when npm exits on a busy machine.
    NODE_OPTIONS: '--v8-pool-size=0',
  };
  const args = ['scripts/setup.mjs', command];
  return (await promisify(execFile)(process.execPath, args, { cwd: clone, env, timeout: 60_000 })).stderr;
}

const inodeOf = (name: string) => statSync(inClone(name)).ino;

it('installs only what the server needs for a start', async () => {
  expect(await setup('program')).toContain("Installing Parley's packages");
  expect(existsSync(inClone('node_modules/used/late.js'))).toBe(true);
  for (const name of ['node_modules/checker', 'test/node_modules'])
    expect(existsSync(inClone(name)), name).toBe(false);
  expect(await setup('program')).toBe('');
});

it('adds the packages of the tests beside a running server, and takes nothing away from it', async () => {
  const server = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      "process.stdin.once('data', async () => console.log((await import('used/late.js')).name))",
    ],
    { cwd: clone },
  );
  const files = ['node_modules/used', 'node_modules/used/late.js', 'node_modules/.bin/node'];
  const before = files.map(inodeOf);
  // An earlier set-up that was killed left this one.
  write('node_modules/checker/package.json', { name: 'checker', version: '1.0.0' });
  await setup('test');
  expect(files.map(inodeOf)).toEqual(before);
  for (const name of ['node_modules/checker', 'node_modules/compiler', 'test/node_modules/sdk'])
    expect(existsSync(inClone(`${name}/late.js`)), name).toBe(true);
  server.stdin.end('now\n');
  expect(String((await once(server.stdout, 'data'))[0])).toBe('used\n');
});

it('keeps the tools when a start installs another package', async () => {
  const { tables, lock } = locked({
    dependencies: ['added', 'used'],
    devDependencies: ['checker', 'compiler'],
  });
  write('package.json', { type: 'module', engines: { node: '>=24.0' }, ...tables });
  write('package-lock.json', lock);
  const before = inodeOf('node_modules/checker/late.js');
  await setup('program');
  expect(existsSync(inClone('node_modules/added/late.js'))).toBe(true);
  expect(inodeOf('node_modules/checker/late.js')).toBe(before);
});
