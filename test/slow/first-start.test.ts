/** The first blocks of the README work as pasted, in a new clone. Packages and modules of hearing come from the caches of this user. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { shell } from '../clients/shell.ts';
import { noTerminal, scratchFolder, until } from '../support/command-line.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const folder = scratchFolder();
afterAll(() => folder.remove());

const missing =
  noTerminal ??
  missingHearing() ??
  (existsSync(`${project}/.git`) ? undefined : 'this is no clone') ??
  ((await shell('npm ping', {})).code === 0 ? undefined : 'the npm registry cannot be reached');
if (missing !== undefined) process.stderr.write(`first-start.test.ts is skipped: ${missing}\n`);

const readme = readFileSync(`${project}/README.md`, 'utf8');
const [start = '', firstCalls = ''] = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, text]) => text);

/** The environment of a person, who has not come through npm. */
function ownEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', XDG_CACHE_HOME } = process.env;
  const path = PATH.split(delimiter).filter((entry) => !entry.startsWith(project));
  return {
    PATH: path.join(delimiter),
    HOME,
    ...(XDG_CACHE_HOME !== undefined && { XDG_CACHE_HOME }),
    PARLEY_PORT: '0',
    TERM: 'xterm',
    SHELL: '/bin/sh',
  };
}

it.skipIf(missing !== undefined)(
  'the first blocks of the README work to their ends',
  { timeout: 1_200_000 },
  async () => {
    const command = start.replace('<this repository>', project);
    expect(command).not.toBe(start);
    const terminal = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
      cwd: folder.path,
      env: ownEnvironment(),
    });
    let shown = '';
    terminal.stdout.on('data', (chunk: Buffer) => {
      shown += chunk;
    });
    const ended = new Promise((resolve) => terminal.once('close', resolve));
    onTestFinished(() => void terminal.kill('SIGHUP'));
    const has = (text: string | RegExp) =>
      typeof text === 'string' ? shown.includes(text) : text.test(shown);
    await until(() => has('listening on ') || terminal.exitCode !== null, 540_000);
    const [, key = ''] = /API key +(pk_\w+)/.exec(shown) ?? [];
    const [, base = ''] = /listening on (\S+)/.exec(shown) ?? [];
    expect([key, base], shown).toEqual([expect.stringMatching(/^pk_/), expect.stringMatching(/\/api\/v1$/)]);

    const calls = firstCalls.replace('pk_…', key).replace('http://127.0.0.1:8080/api/v1', base);
    const morning = folder.file('morning.mp3');
    const { code, stdout, stderr } = await shell(calls.replaceAll('/tmp/morning.mp3', morning), {
      timeoutMs: 540_000,
    });
    expect(code, stderr).toBe(0);
    expect(statSync(morning).size).toBeGreaterThan(1_000);
    expect(stdout).toMatch(/"text":\s*"good morning/i);
    expect(stdout).toMatch(/data: \[DONE\]/);
    expect(stdout).toContain('"id":"flite"');
    expect(stdout).not.toContain('"error"');
    await until(() => has(/Transcribe (that file|the file of the first command):\r?\n +curl /));

    terminal.stdin.write('\x03');
    await ended;
    expect(shown).toContain('Parley has stopped. Goodbye.');
    // Neither JSON, but in the commands to copy, nor a notice of npm.
    expect(shown).not.toMatch(/^\{|npm notice|^\s*"level"/m);
  },
);
