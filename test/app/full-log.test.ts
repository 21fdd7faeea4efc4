/** A server whose log cannot be written, as its disk is full. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { scratchFolder, until } from '../support/command-line.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());

const sourceOf = (name: string) => JSON.stringify(new URL(`../../src/app/${name}`, import.meta.url).href);

/** Runs a program of Node with standard error on a full disk. */
function onFullDisk(...argv: string[]) {
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', full], cwd: folder.path });
  closeSync(full);
  return child;
}

describe('a log that cannot be written', () => {
  it('loses lines beyond a megabyte, counts them, and says so when it can be written again', async () => {
    const found = folder.file('found.log');
    const program = `
      import { closeSync, openSync } from 'node:fs';
      import { createLog } from ${sourceOf('log.ts')};
      import { logLinesLost } from ${sourceOf('log-output.ts')};
      const log = createLog('info');
      while (logLinesLost() < 10) log.info({ text: 'x'.repeat(100_000) }, 'long');
      closeSync(2);
      openSync(${JSON.stringify(found)}, 'w');
      log.info({}, 'last');
      console.log(logLinesLost());`;
    const child = onFullDisk('--input-type=module-typescript', '-e', program);
    const [stdout, [code]] = await Promise.all([child.stdout?.toArray(), once(child, 'close')]);
    expect([code, String(stdout?.join(''))]).toEqual([0, '10\n']);
    const lines = readFileSync(found, 'utf8').trim().split('\n');
    const last = lines.slice(-2).map((line) => JSON.parse(line));
    expect(last).toMatchObject([{ msg: 'last' }, { lines: 10, msg: expect.stringContaining('were lost') }]);
    expect(lines.length).toBeGreaterThan(10);
  });

  it('does not end the server', async () => {
    const main = new URL('../../src/main.ts', import.meta.url).pathname;
    const child = onFullDisk(main, 'serve', '--demo', '--port', '0', '--data-dir', folder.file('data'));
    const ended = once(child, 'close');
    await until(() => existsSync(folder.file('data/server.json')));
    const { baseUrl } = JSON.parse(readFileSync(folder.file('data/server.json'), 'utf8'));
    expect((await fetch(`${baseUrl}/models`)).status).toBe(401);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});
