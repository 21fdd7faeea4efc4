/** `parley keys`: the keys of the caller's own account. */
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { parley, printed, printedJson, scratchFolder, serve } from '../support/command-line.ts';

interface KeyList {
  readonly keys: readonly { readonly id: string; readonly name: string; readonly revoked_at?: string }[];
}

const folder = scratchFolder();
const dataFlags = ['--data-dir', folder.file('data')];
const adminKey = (await printed(['key', 'create', '--admin', ...dataFlags])).trim();
await printed(['account', 'create', 'acme', ...dataFlags]);
const server = await serve(dataFlags);
const create = ['key', 'create', '--account', 'acme', '--scopes', 'chat,manage', '--models', 'eliza'];
const secret = (await printed([...create, ...dataFlags, '--admin-key', adminKey])).trim();
const flags = ['--base-url', server.baseUrl, '--api-key', secret];
afterAll(async () => {
  await server.close();
  folder.remove();
});

describe('parley key invite', () => {
  const page = readFileSync(new URL('../../docs/sign-in.md', import.meta.url), 'utf8');
  const commands = [...page.matchAll(/^parley (key invite .*)$/gm)].map(([, words = '']) => words.split(' '));
  const adminFlags = [...dataFlags, '--admin-key', adminKey];

  it('prints the link of a holder, whose key works for nothing before', async () => {
    const { code, stdout, stderr } = await parley([...(commands[0] ?? []), ...adminFlags]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^https:\/\/parley\.example\.com\/console\/invitation#pi_[0-9a-z]{57}\n$/),
    ]);
    expect(stderr).toMatch(/^key_\w+: send the link to Ada alone\. It works once, until \d{4}-.* UTC\.\n$/);
    const invitation = stdout.trim().replace(/^.*#/, '');
    const own = ['keys', 'list', '--base-url', server.baseUrl, '--api-key', invitation];
    expect((await parley(own)).stderr).toContain('The key is an invitation: open its link in a browser.');
    expect(await printed(['key', 'list', '--account', 'acme', ...adminFlags])).toMatch(/^Ada .* invited/m);
  });

  it('mails none where the server sends no mail', async () => {
    const { code, stderr } = await parley([...(commands[1] ?? []), ...adminFlags]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('This server sends no mail')]);
    expect(await printed(['key', 'list', '--admin', ...adminFlags])).not.toContain('Ben');
  });
});

describe('parley keys', () => {
  it('creates, limits, rotates and revokes a key', async () => {
    const secret = await printed(['keys', 'create', '--name', 'app', '--budget-per-day', '2', ...flags]);
    expect(secret).toMatch(/^pk_[0-9a-z]{57}\n$/);
    const { keys } = await printedJson<KeyList>(['keys', 'list', ...flags]);
    const app = keys.find(({ name }) => name === 'app');
    expect(app).toMatchObject({ scopes: ['chat'], limits: { models: ['eliza'], budgets: { day: '2' } } });
    const id = app?.id ?? '';
    expect(await printed(['keys', 'limits', id, '--characters-per-day', '100', ...flags])).toMatch(
      /\nmodels +eliza\n.*characters per day +0 of 100, from 0 again at /s,
    );
    expect(await printed(['keys', 'rotate', id, '--overlap', '1h', ...flags])).toMatch(/^pk_/);
    expect(await printed(['keys', 'revoke', id, '--yes', ...flags])).toMatch(/\nrevoked +\d{4}-/);
  });

  it('refuses a key that is wider than the calling one, in a line with the code', async () => {
    const { code, stderr } = await parley(['keys', 'create', '--models', 'm', ...flags]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^This API key cannot give a wider limit `models`.*\(insufficient_scope/);
  });

  it('sums the usage by key', async () => {
    expect(await printed(['keys', 'usage', '--by', 'key,operation', ...flags])).toMatch(
      /^KEY +OPERATION +REQUESTS .*\nkey_[0-9a-f]{32} +manage +\d+ /,
    );
  });
});
