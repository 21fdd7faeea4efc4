/** The scripts of `parley completion`, in the shells that are installed. */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { printed, serve, shellCommand } from '../support/command-line.ts';
import { scratchPath } from '../support/scratch-path.ts';

type Shell = 'bash' | 'zsh' | 'fish';

/** How each shell is asked for completions: the words on the command line are its arguments. */
const questions: Readonly<Record<Shell, string>> = {
  bash: `
    source "$SCRIPT"
    [[ $(complete -p parley) == *'-F _parley parley' ]] || exit 3
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
    _parley
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  // Completion widgets only work at a terminal. These replacements print their arguments.
  zsh: `
    autoload -Uz compinit; compinit -D
    source "$SCRIPT"
    [[ $_comps[parley] == _parley ]] || exit 3
    words=("$@"); CURRENT=$#
    _describe() { print -l -- \${\${(P)2}%%:*}; }
    compadd() { shift; print -l -- "$@"; }
    _files() { print files; }
    _parley | grep -E -- "^$words[CURRENT]"`,
  fish: 'source "$SCRIPT"; complete -C "$argv" | string replace -r "\\t.*" ""',
};

const shells = (Object.keys(questions) as Shell[]).map((shell) => ({
  shell,
  missing: spawnSync(shell, ['-c', 'true']).status === 0 ? undefined : `${shell} is not installed`,
}));

const folder = scratchPath('completion');

/** The words that a shell offers after others. The last word may be incomplete. */
function offered(shell: Shell, ...words: string[]): string[] {
  const args = {
    bash: ['-c', questions.bash, 'bash'],
    zsh: ['-f', '-c', questions.zsh, 'zsh'],
    fish: ['-N', '-c', questions.fish],
  };
  const line = ['parley', ...words];
  const PATH = `${folder}:${process.env['PATH']}`;
  const { stdout, stderr } = spawnSync(
    shell,
    [...args[shell], ...(shell === 'fish' ? [line.join(' ')] : line)],
    { cwd: folder, encoding: 'utf8', env: { ...process.env, PATH, SCRIPT: join(folder, shell) } },
  );
  expect(stderr).toBe('');
  return stdout
    .split('\n')
    .filter((word) => word !== '')
    .sort();
}

describe.each(shells)('parley completion $shell', ({ shell, missing }) => {
  const inShell = it.skipIf(missing !== undefined);
  const note = missing === undefined ? '' : ` (${missing})`;

  beforeAll(async () => {
    writeFileSync(join(folder, shell), await printed(['completion', shell]));
    const { file, args } = shellCommand('exec "$@"', [], {});
    const words = [file, ...args].map((word) => `'${word}'`).join(' ');
    writeFileSync(join(folder, 'parley'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
  });

  inShell(`offers commands${note}`, () => {
    expect(offered(shell, 'se')).toEqual(['serve']);
    expect(offered(shell, '')).toEqual(
      expect.arrayContaining(['account', 'completion', 'doctor', 'transcribe']),
    );
  });

  inShell(`offers the commands of a command${note}`, () => {
    expect(offered(shell, 'key', 'r')).toEqual(['revoke', 'rotate']);
  });

  inShell(`offers flags, also after other words${note}`, () => {
    expect(offered(shell, 'key', 'create', '--account', 'acme', '--sc')).toEqual(['--scopes']);
    expect(offered(shell, 'usage', '--json', '--op')).toEqual(['--operation']);
  });

  inShell(`offers the values of arguments and flags${note}`, () => {
    expect(offered(shell, 'completion', 'f')).toEqual(['fish']);
    expect(offered(shell, 'speak', '--format', 'f')).toEqual(['flac']);
  });

  inShell(`leaves the names of files to the shell${note}`, () => {
    const found = offered(shell, 'transcribe', 'nothing-is-named-so');
    expect(found.filter((word) => word !== 'files')).toEqual([]);
  });

  inShell(`offers files and folders only where a flag takes one${note}`, () => {
    // Bash completes the names of files by itself, which this question does not see.
    if (shell !== 'bash') expect(offered(shell, 'serve', '--config', '')).not.toEqual([]);
    expect(offered(shell, 'key', 'create', '--account', '')).toEqual([]);
  });

  inShell(`offers the names of accounts${note}`, async () => {
    for (const name of ['green', 'Blue Harbour', 'night']) {
      await printed(['account', 'create', name], { cwd: folder });
    }
    const escaped = shell === 'bash' ? 'Blue\\ Harbour' : 'Blue Harbour';
    expect(offered(shell, 'key', 'create', '--account', 'g')).toEqual(['green']);
    expect(offered(shell, 'key', 'create', '--account', 'Bl')).toEqual([escaped]);
    expect(offered(shell, 'account', 'show', 'ni')).toEqual(['night']);
    expect(offered(shell, 'account', 'show', '--js')).toEqual(['--json']);
    rmSync(join(folder, 'data'), { recursive: true });
  });
});

it('offers names beside a running server, without a key', async () => {
  await printed(['account', 'create', 'green'], { cwd: folder });
  const server = await serve([], { cwd: folder });
  expect(await printed(['account', 'list', '--names'], { cwd: folder })).toBe('green\n');
  await server.close();
  rmSync(join(folder, 'data'), { recursive: true });
});

describe('parley completion', () => {
  it('refuses other shells', async () => {
    await expect(printed(['completion', 'tcsh'])).rejects.toThrow(/bash, zsh, fish/);
  });
});
