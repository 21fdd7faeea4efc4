/** `parley runtimes`, with a script in the place of llama-server. */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mustRun } from '../clients/shell.ts';
import {
  noTerminal,
  parley,
  parleyAtTerminal,
  printed,
  printedJson,
  scratchFolder,
  until,
} from '../support/command-line.ts';
import { storeModel } from '../support/local-models.ts';
import { tinyGguf } from '../support/tiny-gguf.ts';

let folder: ReturnType<typeof scratchFolder>;
beforeEach(() => {
  folder = scratchFolder();
});
afterEach(() => folder.remove());

/** The PATH has the tools of the system, and no llama-server. */
const options = () => ({ cwd: folder.path, env: { PATH: '/usr/bin:/bin' } });
const script = "#!/bin/sh\necho 'version: 7 (abc)' >&2\n";

/** An archive with a folder, as llama.cpp has them. */
async function archive(edit: (inside: string) => void = () => undefined) {
  const inside = folder.file('llama-b7');
  mkdirSync(inside);
  writeFileSync(`${inside}/llama-server`, script, { mode: 0o755 });
  writeFileSync(`${inside}/libllama.so.1`, 'library');
  symlinkSync('libllama.so.1', `${inside}/libllama.so`);
  edit(inside);
  await mustRun('tar -czf llama.tar.gz llama-b7', { cwd: folder.path });
  const sha256 = createHash('sha256')
    .update(readFileSync(folder.file('llama.tar.gz')))
    .digest('hex');
  return ['--archive', 'llama.tar.gz', '--sha256', sha256];
}

it('says where a runtime is, and where one can be had', async () => {
  const none = await parley(['runtimes', 'list'], options());
  expect(none.stdout).toMatch(/^llama +chat models in GGUF files +MIT +not installed +-$/m);
  expect(none.stderr).toContain('llama: Run `parley runtimes install llama`');
  mkdirSync(folder.file('bin'));
  writeFileSync(folder.file('bin/llama-server'), script, { mode: 0o755 });
  const env = { PATH: `${folder.file('bin')}:/usr/bin:/bin` };
  expect(await printedJson(['runtimes', 'list', '--json'], { ...options(), env })).toMatchObject({
    runtimes: expect.arrayContaining([
      expect.objectContaining({
        name: 'llama',
        path: folder.file('bin/llama-server'),
        source: 'PATH',
        advice: null,
      }),
    ]),
  });
});

/** Answers `--version` and the check of its health, and ends at the first prompt. */
const fragile = `#!${process.execPath}
const at = process.argv.indexOf('--host');
if (at < 0) console.log('version: 7 (abc)');
else require('node:http').createServer(({ url }, response) => {
  if (url === '/health') response.end();
  else process.kill(process.pid, 'SIGILL');
}).listen(process.argv[at + 1]);
`;

it('finds a program that was built for another processor, by a prompt', async () => {
  const place = await archive((inside) => writeFileSync(`${inside}/llama-server`, fragile, { mode: 0o755 }));
  expect((await parley(['runtimes', 'install', 'llama', ...place], options())).code).toBe(0);
  const verify = () => parley(['runtimes', 'verify', 'llama'], options());
  expect(await verify()).toMatchObject({ code: 0, stderr: expect.stringContaining('version: 7 (abc)') });
  storeModel(folder.file('data'), 'large', Buffer.concat([tinyGguf(1), Buffer.alloc(1_000)]));
  storeModel(folder.file('data'), 'small', tinyGguf(1));
  const { code, stderr } = await verify();
  expect(code).toBe(1);
  expect(stderr).toMatch(/^llama: It cannot run small: .*SIGILL/m);
  const { stdout } = await parley(['doctor'], options());
  expect(stdout).toMatch(/^local models\n {2}problem {2}runtime llama: It cannot run small: .*SIGILL/m);

  writeFileSync(folder.file('data/models/manifests/small.json'), '{}');
  const broken = await parley(['doctor'], options());
  expect(broken.stdout).toMatch(/^local models\n {2}problem {2}files: .*small\.json/m);
});

it('installs links to folders, and ends where one leads to itself', async () => {
  const linked = await archive((inside) => {
    mkdirSync(`${inside}/lib`);
    writeFileSync(`${inside}/lib/one`, '1');
    symlinkSync('lib', `${inside}/lib64`);
  });
  expect((await parley(['runtimes', 'install', 'llama', ...linked], options())).code).toBe(0);
  expect((await parley(['runtimes', 'verify', 'llama'], options())).code).toBe(0);
  rmSync(folder.file('llama-b7'), { recursive: true });
  const endless = await archive((inside) => {
    symlinkSync('.', `${inside}/d`);
    symlinkSync('.', `${inside}/e`);
  });
  const { code, stderr } = await parley(['runtimes', 'install', 'llama', ...endless], options());
  expect([code, stderr]).toEqual([1, expect.stringContaining('leads out of its folder')]);
});

it('installs an archive with the right hash, and verifies it', async () => {
  const place = await archive();
  const { code, stderr } = await parley(['runtimes', 'install', 'llama', ...place], options());
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/^llama is installed: .*runtimes\/llama\/llama-server \(version: 7 \(abc\)\)\.\n$/),
  ]);
  expect(await printed(['runtimes', 'list'], options())).toMatch(
    /^llama .*runtimes\/llama\/llama-server +llama\.tar\.gz$/m,
  );
  const verify = () => parley(['runtimes', 'verify', 'llama'], options());
  expect(await verify()).toMatchObject({ code: 0, stderr: expect.stringContaining('version: 7 (abc)') });

  // The same size, another content.
  writeFileSync(folder.file('data/runtimes/llama/libllama.so.1'), 'virused');
  expect(await verify()).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'llama: libllama.so has another content. libllama.so.1 has another content.',
    ),
  });
  expect((await parley(['runtimes', 'install', 'llama', ...place], options())).code).toBe(0);
  expect((await verify()).code).toBe(0);
});

it.each([
  ['another hash', async () => [...(await archive()).slice(0, 3), '0'.repeat(64)], 'its SHA-256 is'],
  [
    'a link that leads out',
    () => archive((inside) => symlinkSync('/etc', `${inside}/config`)),
    'config leads out of its folder',
  ],
  ['no program', () => archive((inside) => rmSync(`${inside}/llama-server`)), 'has no llama-server'],
  [
    'more bytes than an archive may have',
    async () => {
      const place = await archive();
      truncateSync(folder.file('llama.tar.gz'), 2 ** 31 + 1);
      return place;
    },
    'llama.tar.gz: it has more than 2147483648 bytes.',
  ],
  [
    'the form of a zip',
    async () => {
      await archive();
      const zip = Buffer.from('PK\x03\x04 and more');
      writeFileSync(folder.file('llama.tar.gz'), zip);
      return ['--archive', 'llama.tar.gz', '--sha256', createHash('sha256').update(zip).digest('hex')];
    },
    'Nothing was installed from llama.tar.gz: it is a zip archive. Unpack it, and make a tar archive of its folder.',
  ],
  ['no hash', async () => (await archive()).slice(0, 2), 'Give both --archive and --sha256.'],
])('installs nothing from an archive with %s', async (_, place, message) => {
  const { code, stderr } = await parley(['runtimes', 'install', 'llama', ...(await place())], options());
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(readdirSync(folder.path).includes('data') ? readdirSync(folder.file('data/runtimes')) : []).toEqual(
    [],
  );
});

describe('a runtime whose licence is not permissive', () => {
  const install = async () => ['runtimes', 'install', 'sherpa', ...(await archive())];
  const begun = 'The archive has no sherpa-onnx-node';

  it('is refused where nobody can answer, and says how to go on', async () => {
    const { code, stderr } = await parley(await install(), options());
    expect(code).toBe(1);
    expect(stderr).toMatch(/GPL-3\.0 inside.* Nobody can answer here: repeat the command with --yes\.$/m);
    expect(existsSync(folder.file('data/runtimes'))).toBe(false);
  });

  it('is installed with --yes', async () => {
    const { code, stderr } = await parley([...(await install()), '--yes'], options());
    expect([code, stderr]).toEqual([1, expect.stringContaining(begun)]);
  });

  it.skipIf(noTerminal !== undefined).each([
    ['n', 'Nothing was changed.'],
    ['y', begun],
  ])(`is asked about at a terminal: %s${noTerminal ? ` (${noTerminal})` : ''}`, async (answer, end) => {
    const terminal = parleyAtTerminal(await install(), options());
    await until(() => terminal.shown().includes('[y/N]'));
    terminal.type(`${answer}\r`);
    expect(await terminal.ended).toBe(1);
    expect(terminal.shown()).toContain(end);
  });
});
