/** Commands that cannot be undone ask at a terminal, and need `--yes` elsewhere. */
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import {
  noTerminal,
  parley,
  parleyAtTerminal,
  printedJson,
  scratchFolder,
  until,
} from '../support/command-line.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());
const options = { cwd: folder.path };
let accounts = 0;
let name: string;
let keyId: string;

beforeEach(async () => {
  name = `acme-${++accounts}`;
  await printedJson(['account', 'create', name], options);
  const { key } = await printedJson<{ key: { id: string } }>(['key', 'create', '--account', name], options);
  keyId = key.id;
  const load = ['--amount', '12.5', '--reason', 'test'];
  await parley(['credits', 'load', name, ...load.slice(1)], options);
  await parley(['plan', 'start-trial', name], options);
});

/** Types an answer once a command asks. */
async function atTerminal(answer: string, ...args: readonly string[]) {
  const terminal = parleyAtTerminal(args, options);
  await until(() => terminal.shown().includes('[y/N]'));
  terminal.type(answer);
  return { code: await terminal.ended, shown: terminal.shown() };
}

const isDeleted = async () => (await parley(['account', 'show', name], options)).code !== 0;

describe.each([
  ['account delete', () => ['account', 'delete', name], 'Its keys stop working'],
  ['key revoke', () => ['key', 'revoke', keyId], 'Programs that use it are refused'],
  ['key rotate', () => ['key', 'rotate', keyId, '--json'], 'Programs that use it are refused'],
  ['plan end', () => ['plan', 'end', name, '--json'], 'It has no other trial'],
  ['prune', () => ['prune', '--keep-days', '0', '--json'], 'Remove 0 usage records'],
])('parley %s', (_, args, lost) => {
  it('does nothing without --yes where nobody can answer, and says what would be lost', async () => {
    const { code, stdout, stderr } = await parley(args(), options);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(lost);
    expect(stderr).toContain('repeat the command with --yes');
    expect(await isDeleted()).toBe(false);
  });

  it.skipIf(noTerminal !== undefined)(
    `asks at a terminal${noTerminal ? ` (skipped: ${noTerminal})` : ''}, and does nothing unless the answer is yes`,
    async () => {
      for (const answer of ['n\r', '\r', '\u0004', '\u0003']) {
        const { code, shown } = await atTerminal(answer, ...args());
        expect(shown).toContain(lost);
        expect(shown).toContain('Nothing was changed.');
        expect(code).toBe(1);
      }
      const { code, shown } = await atTerminal('y\r', ...args());
      expect(shown).toMatch(/(deleted|revoked) +\d{4}-|"(secret|state|complete)": /);
      expect(code).toBe(0);
    },
  );
});

it('parley restore deletes the database only with --yes, unless it keeps it', async () => {
  const { code, stderr } = await parley(['restore', 'backup.db', '--no-keep'], options);
  expect(code).toBe(1);
  expect(stderr).toContain('is deleted, with all keys, usage and credits since the backup');
  const { stderr: kept } = await parley(['restore', 'backup.db'], options);
  expect(kept).toContain('backup.db');
  expect(kept).not.toContain('--yes');
});
