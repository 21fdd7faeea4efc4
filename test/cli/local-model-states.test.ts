/** `parley models list` beside a server, with the tiny server in the place of llama-server. */
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parley, printed, printedJson, type Serving, scratchFolder, serve } from '../support/command-line.ts';
import { storeModel } from '../support/local-models.ts';
import { tinyCommand } from '../support/tiny-program.ts';

const folder = scratchFolder();
const options = { cwd: folder.path };
const list = ['models', 'list'];
let serving: Serving;

beforeAll(async () => {
  const llamaServer = folder.file('llama-server');
  const [node = '', server = ''] = tinyCommand();
  const script = `#!/bin/sh
case "$*" in *'--alias broken '*) echo 'a tensor is missing' >&2; exit 3;; esac
exec ${node} ${server} "$2"
`;
  writeFileSync(llamaServer, script, { mode: 0o755 });
  for (const id of ['broken', 'small', 'spare']) storeModel(folder.file('data'), id, Buffer.alloc(2_000_000));
  const models = ['broken', 'small'].map((id) => {
    return { id, type: 'chat', engine: 'local', price: { input: 1, output: 1 } };
  });
  const settings = { programs: { llamaServer }, engines: { local: { kind: 'local' } }, models };
  writeFileSync(folder.file('parley.yaml'), JSON.stringify(settings));
  serving = await serve(['--demo'], options);
});
afterAll(async () => {
  await serving.close();
  folder.remove();
});

describe('parley models list', () => {
  it('shows how the models run on the server of the data folder', async () => {
    expect(await printed(list, options)).toMatch(/^small .* present +stopped +0 +- +-$/m);
    expect((await parley(['chat', '--model', 'small', 'Good morning'], options)).code).toBe(0);
    expect((await parley(['engines', 'load', 'local/broken'], options)).code).toBe(1);
    const shown = await printed(list, options);
    expect(shown).toMatch(/ STATE +WAITING +LAST USE \(UTC\) +FAILURE$/m);
    expect(shown).toMatch(/^small .* (ready|busy) +0 +\d{4}-\d\d-\d\d \S+ +-$/m);
    expect(shown).toMatch(/^broken .* failed .* status 3: a tensor is missing$/m);
    // It is in no configuration.
    expect(shown).toMatch(/^spare .* present +- +- +- +-$/m);
  });

  it('shows it as JSON, with the memory that was measured', async () => {
    const listed = async () => (await printedJson<{ models: object[] }>(list, options)).models;
    await expect
      .poll(listed)
      .toEqual([
        expect.objectContaining({
          id: 'broken',
          running: expect.objectContaining({ engine: 'local/broken', failure: expect.any(String) }),
        }),
        expect.objectContaining({
          id: 'small',
          running: {
            engine: 'local/small',
            state: expect.stringMatching(/ready|busy/),
            memory_bytes: expect.toSatisfy((bytes: number) => bytes > 10_000_000),
            waiting: 0,
            last_used_at: expect.stringMatching(/^\d{4}-.*Z$/),
            failure: null,
          },
        }),
        expect.objectContaining({ id: 'spare', running: null }),
      ]);
  });

  it('lists the models with a wrong key, too, and says what is missing', async () => {
    const { code, stdout, stderr } = await parley([...list, '--admin-key', 'ak_of_nobody'], options);
    expect([code, stdout.split('\n').length]).toEqual([0, 5]);
    expect(stdout).not.toContain('STATE');
    expect(stderr).toMatch(/^How the models run is not shown: .*--admin-key/);
  });
});

it('takes the flags of `parley engines` after the command that unloads a program', async () => {
  const command = ['engines', 'unload', 'local/small', '--data-dir', folder.file('data')];
  expect(await printedJson(command, { cwd: tmpdir() })).toMatchObject({ name: 'local/small' });
});
