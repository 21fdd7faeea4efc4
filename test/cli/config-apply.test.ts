/** An edited parley.yaml: who says that it differs from what runs, and how the running server takes it. */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Folder,
  inShell,
  parley,
  printedJson,
  type Serving,
  scratchFolder,
  serve,
} from '../support/command-line.ts';

let folder: Folder;
let server: Serving | undefined;
let adminKey: string;

const configured = (models: readonly string[], more = '') =>
  `${more}models:\n${models.map((id) => `  - { id: ${id}, type: chat, engine: builtin, price: { input: 1, output: 1 } }\n`).join('')}`;
const write = (text: string) => writeFileSync(join(folder.path, 'parley.yaml'), text);
const run = (...args: string[]) => parley(args, { cwd: folder.path });

interface State {
  readonly models: readonly { readonly id: string }[];
  readonly configuration_file?: {
    readonly path: string;
    readonly changed: string[];
    readonly problem?: string;
  };
}

async function state(): Promise<State> {
  const headers = { authorization: `Bearer ${adminKey}` };
  return (await (await fetch(`${server?.baseUrl}/admin/server`, { headers })).json()) as State;
}

async function changeOverApi(edits: readonly object[]) {
  const headers = { authorization: `Bearer ${adminKey}` };
  const url = `${server?.baseUrl}/admin/configuration`;
  const { version } = (await (await fetch(url, { headers })).json()) as { version: string };
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify({ version, edits }) });
  return (await answer.json()) as { diff: string[]; findings: object[] };
}
const modelIds = async () => (await state()).models.map(({ id }) => id);

beforeEach(async () => {
  folder = scratchFolder();
  write(configured(['one']));
  const key = ['key', 'create', '--admin', '--name', 'boss', '--json'];
  adminKey = (await printedJson<{ secret: string }>(key, { cwd: folder.path })).secret;
  server = undefined;
});
afterEach(async () => {
  server?.kill('SIGTERM');
  await server?.ended;
  await folder.remove();
});

describe('parley config apply', () => {
  it('lets the running server use an edited file, which was shown to differ', async () => {
    server = await serve([], { cwd: folder.path });
    expect((await state()).configuration_file).toEqual({ path: 'parley.yaml', changed: [] });
    write(configured(['one', 'two']));
    const { path, changed, problem } = (await state()).configuration_file ?? {};
    expect([path, problem]).toEqual(['parley.yaml', undefined]);
    expect(changed).toContain('models[1].id');
    expect(changed).not.toContain('models[0].id');
    const checked = await run('config', 'check');
    expect(checked.stderr).toContain('`parley config apply`');
    expect(await modelIds()).toEqual(['one']);
    const applied = await run('config', 'apply');
    expect([applied.code, applied.stderr]).toEqual([0, 'The server uses parley.yaml.\n']);
    expect(await modelIds()).toEqual(['one', 'two']);
    expect((await state()).configuration_file).toEqual({ path: 'parley.yaml', changed: [] });
    const undone = await changeOverApi([{ section: 'models', name: 'two', yaml: '' }]);
    expect([undone.diff, undone.findings]).toEqual([[expect.stringContaining('id: two')], []]);
    expect(await modelIds()).toEqual(['one']);
    expect(await run('config', 'apply')).toMatchObject({ code: 0 });
  });

  it('says why the server cannot use it: a mistake, or a setting that needs a restart', async () => {
    server = await serve([], { cwd: folder.path });
    write(configured(['two'], 'limits:\n  keysPerAccountMax: 7\n'));
    const restart = await run('config', 'apply');
    expect(restart.code).toBe(1);
    expect(restart.stderr).toContain('`limits` cannot change while the server runs. Restart it');
    expect((await state()).configuration_file).toMatchObject({
      changed: expect.arrayContaining(['limits.keysPerAccountMax', 'models[0].id']),
      problem: expect.stringContaining('`limits` cannot change'),
    });
    write(configured(['two'], 'limit: 7\n'));
    const wrong = await run('config', 'apply');
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('parley.yaml:1:1')]);
    expect((await state()).configuration_file?.problem).toContain('parley.yaml:1:1');
    expect(await modelIds()).toEqual(['one']);
  });

  it('brings a file to a server that was started without one, where that looks for it', async () => {
    rmSync(folder.file('parley.yaml'));
    server = await serve([], { cwd: folder.path });
    writeFileSync(folder.file('other.yaml'), configured(['two']));
    const other = await run('config', 'apply', '--config', 'other.yaml');
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('reads no file, not')]);
    write(configured(['one']));
    expect((await run('config', 'apply')).stderr).toBe('The server uses parley.yaml.\n');
    expect(await modelIds()).toEqual(['one']);
    expect((await run('config', 'check')).stderr).toContain('`parley config apply`');
  });

  it('sends no signal to another program that has the process id of a dead server', async () => {
    const other = spawn('sleep', ['60']);
    const url = 'http://127.0.0.1:1';
    const left = { baseUrl: url, adminBaseUrl: url, pid: other.pid, file: join(folder.path, 'parley.yaml') };
    writeFileSync(join(folder.path, 'data', 'server.json'), JSON.stringify(left));
    expect((await run('config', 'apply')).stderr).toContain('No server runs on the data folder');
    expect(other.kill()).toBe(true);
  });

  it('shows no secret of the file, right or wrong', async () => {
    const engine =
      'far: { kind: openai, baseUrl: "http://127.0.0.1:9/v1", headers: { Authorization: hidden } }';
    write(configured(['one'], `engines:\n  builtin: { kind: builtin }\n  ${engine}\n`));
    server = await serve([], { cwd: folder.path });
    write('store: { kind: postgres, url: "postgres:/parley:hidden@db/parley" }\n');
    const shown = await state();
    expect(shown.configuration_file?.problem).toContain('`store.url` is (not shown), but must be a URL');
    expect(JSON.stringify(shown)).toContain('"engines.far.headers.Authorization"');
    expect(JSON.stringify(shown)).not.toContain('hidden');
  });

  it('is whole, before or after the change, if the server is killed in the middle of changes', async () => {
    const lines = Array.from({ length: 500 }, (_, at) => `m-${at}`);
    write(configured(lines));
    const model = (price: number) => ({
      section: 'models',
      name: 'm-499',
      yaml: `id: m-499\ntype: chat\nengine: builtin\nprice: { input: ${price}, output: 1 }\n`,
    });
    for (let round = 1; round <= 4; round++) {
      server = await serve([], { cwd: folder.path });
      let price = 10 * round;
      const changing = (async () => {
        for (;;) await changeOverApi([model(price++)]);
      })().catch(() => undefined);
      await expect.poll(() => price).toBeGreaterThan(10 * round + 1);
      server.kill('SIGKILL');
      await Promise.all([server.ended, changing]);
      const text = readFileSync(join(folder.path, 'parley.yaml'), 'utf8');
      const written = Number(/id: m-499\n.*\n.*\n *price: \{ input: (\d+)/.exec(text)?.[1]);
      // The change that was on its way is in the file or not; the one before it was answered.
      expect([price - 2, price - 1]).toContain(written);
      expect(await run('config', 'check')).toMatchObject({ code: 0 });
    }
  });

  it('is read once from a pipe', async () => {
    execFileSync('mkfifo', [folder.file('pipe.yaml')]);
    const writer = inShell('cat parley.yaml > pipe.yaml', { cwd: folder.path });
    server = await serve(['--config', 'pipe.yaml'], { cwd: folder.path });
    await writer;
    const { models, configuration_file: file } = await state();
    expect([models.map(({ id }) => id), file]).toEqual([['one'], undefined]);
  });

  it('finds no server, or one with another file', async () => {
    const none = await run('config', 'apply');
    expect([none.code, none.stderr]).toEqual([
      1,
      expect.stringContaining('No server runs on the data folder'),
    ]);
    expect((await run('config', 'check')).stderr).toBe('parley.yaml is valid.\n');
    server = await serve([], { cwd: folder.path });
    writeFileSync(join(folder.path, 'other.yaml'), configured(['two']));
    const other = await run('config', 'apply', '--config', 'other.yaml');
    expect([other.code, other.stderr]).toEqual([
      1,
      expect.stringContaining(`reads ${folder.path}/parley.yaml, not`),
    ]);
    expect(await modelIds()).toEqual(['one']);
  });
});
