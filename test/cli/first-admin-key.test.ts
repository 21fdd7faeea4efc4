/** The owner of a data folder, or of a container, gets the first admin key without stopping the server. */
import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeCertificate } from '../support/certificates.ts';
import {
  type Folder,
  parley,
  printed,
  printedJson,
  type RunOptions,
  type Serving,
  scratchFolder,
  serve,
} from '../support/command-line.ts';

const given = 'given-to-the-container-at-its-start';
let folder: Folder;
let at: string[];
let server: Serving | undefined;
beforeEach(() => {
  folder = scratchFolder();
  at = ['--data-dir', folder.file('data')];
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  folder.remove();
});

const start = async (env: RunOptions['env'] = {}, ...flags: string[]) => {
  server = await serve([...at, ...flags], { cwd: folder.path, env });
  return server;
};

interface Audit {
  readonly entries: readonly { readonly actor: string; readonly action: string }[];
}

describe('the first admin key', () => {
  it('is made beside the running server, as the server says at its start', async () => {
    const { stderr } = await start();
    const command = /no admin key: .* as its user: parley (.+?)"/.exec(stderr())?.[1] ?? '';
    expect(command).toBe(`key create --admin --data-dir ${folder.file('data')}`);
    const adminKey = (await printed(command.split(' '), { cwd: folder.path })).trim();
    const flags = [...at, '--admin-key', adminKey];
    await printed(['account', 'create', 'acme', ...flags], { cwd: folder.path });
    const { entries } = await printedJson<Audit>(['audit', ...flags], { cwd: folder.path });
    expect(entries.map(({ actor, action }) => [actor.slice(0, 4), action])).toEqual([
      ['key_', 'account.create'],
      ['cli', 'key.create'],
    ]);
    await server?.close();
    expect((await start()).stderr()).not.toContain('no admin key');
  });

  it('needs no address: the server may have any certificate', async () => {
    const { cert, key } = makeCertificate('parley.example.com');
    writeFileSync(folder.file('cert.pem'), cert);
    writeFileSync(folder.file('key.pem'), key);
    const env = { PARLEY_TLS_CERT: folder.file('cert.pem'), PARLEY_TLS_KEY: folder.file('key.pem') };
    await start(env);
    expect(await printed(['key', 'create', '--admin', ...at], { cwd: folder.path })).toMatch(/^pa_\w+\n$/);
  });

  it('does not let other commands write beside the server without a key', async () => {
    await start();
    const { code, stderr } = await parley(['account', 'create', 'acme', ...at], { cwd: folder.path });
    expect([code, stderr]).toEqual([1, expect.stringContaining('needs an admin key')]);
  });

  it('is the value of PARLEY_ADMIN_KEY, for the server and for commands', async () => {
    const env = { PARLEY_ADMIN_KEY: given };
    const { stderr } = await start(env);
    expect(stderr()).not.toContain('no admin key');
    await printed(['account', 'create', 'acme', ...at], { cwd: folder.path, env });
    const { entries } = await printedJson<Audit>(['audit', ...at], { cwd: folder.path, env });
    expect(entries).toMatchObject([{ actor: 'PARLEY_ADMIN_KEY', action: 'account.create' }]);
    const other = { PARLEY_ADMIN_KEY: `${given}.` };
    expect((await parley(['account', 'list', ...at], { cwd: folder.path, env: other })).stderr).toContain(
      'invalid_api_key',
    );
    const shown = await printed(['config', 'show', ...at], { cwd: folder.path, env });
    expect(stderr() + shown).not.toContain(given);
  });

  it('is in the file of PARLEY_ADMIN_KEY_FILE, for the server and for commands', async () => {
    writeFileSync(folder.file('admin-key'), `${given}\n`);
    const env = { PARLEY_ADMIN_KEY_FILE: folder.file('admin-key') };
    await start(env);
    await printed(['account', 'create', 'acme', ...at], { cwd: folder.path, env });
    // The key belongs to the server, not to the folder.
    await server?.close();
    await start();
    const headers = { authorization: `Bearer ${given}` };
    expect((await fetch(`${server?.baseUrl}/admin/accounts`, { headers })).status).toBe(401);
  });

  it.each([
    ['short', 'is not an admin key: at least 32 characters without spaces'],
    [`pk_${'0'.repeat(57)}`, 'is not an admin key'],
  ])('is refused at start if it is %s', async (key, reason) => {
    const env = { PARLEY_ADMIN_KEY: key };
    const wrong = await parley(['serve', '--port', '0', ...at], { cwd: folder.path, env });
    expect([wrong.code, wrong.stdout]).toEqual([1, '']);
    expect(wrong.stderr).toContain(reason);
    writeFileSync(folder.file('admin-key'), key);
    const file = { PARLEY_ADMIN_KEY_FILE: folder.file('admin-key') };
    const other = await parley(['config', 'check'], { cwd: folder.path, env: file });
    expect([other.code, other.stderr + other.stdout]).toEqual([1, expect.stringContaining('does not hold')]);
  });
});
