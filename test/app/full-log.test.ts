/** A server whose log cannot be written, as its disk is full. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { scratchFolder, until } from '../support/command-line.ts';
import { bearer } from '../support/parley.ts';
import { cannotMount, smallDisk } from '../support/small-disk.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());

const sourceOf = (name: string) => JSON.stringify(new URL(`../../src/app/${name}`, import.meta.url).href);

const main = new URL('../../src/main.ts', import.meta.url).pathname;

/** Runs a program of Node with standard error in a file. Default: on a full disk */
function onDisk(argv: readonly string[], { log = '/dev/full', env = {} } = {}) {
  const error = openSync(log, 'a');
  const own = { ...process.env, ...env };
  const child = spawn(process.execPath, argv, {
    stdio: ['ignore', 'pipe', error],
    cwd: folder.path,
    env: own,
  });
  closeSync(error);
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
    const child = onDisk(['--input-type=module-typescript', '-e', program]);
    const [stdout, [code]] = await Promise.all([child.stdout?.toArray(), once(child, 'close')]);
    expect([code, String(stdout?.join(''))]).toEqual([0, '10\n']);
    const lines = readFileSync(found, 'utf8').trim().split('\n');
    const last = lines.slice(-2).map((line) => JSON.parse(line));
    expect(last).toMatchObject([{ msg: 'last' }, { lines: 10, msg: expect.stringContaining('were lost') }]);
    expect(lines.length).toBeGreaterThan(10);
  });

  it('does not end the server', async () => {
    const child = onDisk([main, 'serve', '--demo', '--port', '0', '--data-dir', folder.file('data')]);
    const ended = once(child, 'close');
    await until(() => existsSync(folder.file('data/server.json')));
    const { baseUrl } = JSON.parse(readFileSync(folder.file('data/server.json'), 'utf8'));
    expect((await fetch(`${baseUrl}/models`)).status).toBe(401);
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });
});

const reason = cannotMount === undefined ? '' : ` (skipped: ${cannotMount})`;

describe('a log and a database on one full disk', () => {
  it.skipIf(reason !== '')(`lose lines of the log and no record${reason}`, async () => {
    const disk = smallDisk();
    const [log, data, config] = [`${disk.folder}/log`, `${disk.folder}/data`, folder.file('parley.yaml')];
    const model = '{ id: eliza, type: chat, engine: builtin, price: { input: 1, output: 1 } }';
    writeFileSync(config, `models: [${model}]`);
    const adminKey = `pa_${'a'.repeat(60)}`;
    const argv = [main, 'serve', '--port', '0', '--data-dir', data, '--config', config];
    const child = onDisk(argv, { log, env: { PARLEY_ADMIN_KEY: adminKey } });
    const ended = once(child, 'close');
    try {
      await until(() => existsSync(`${data}/server.json`));
      const { baseUrl } = JSON.parse(readFileSync(`${data}/server.json`, 'utf8'));
      const post = async (path: string, body: object, key = adminKey) =>
        fetch(baseUrl + path, { method: 'POST', body: JSON.stringify(body), ...bearer(key) });
      const linesLost = async () => {
        const text = await (await fetch(new URL('/metrics', baseUrl), bearer(adminKey))).text();
        return Number(/^parley_log_lines_lost (\d+)/m.exec(text)?.[1]);
      };
      await post('/admin/accounts', { name: 'a' });
      await post('/admin/accounts/a/credits', { amount: '1', reason: 'test', idempotency_key: 'once' });
      const { secret } = (await (await post('/admin/accounts/a/keys', { name: 'a' })).json()) as {
        secret: string;
      };
      const messages = [{ role: 'user', content: 'Hi' }];
      const chat = () => post('/chat/completions', { model: 'eliza', messages }, secret);
      const answers = [await chat()];
      disk.fill();
      answers.push(await chat(), await chat());
      expect(await linesLost()).toBe(0);
      // Each reload of such a file logs all of its mistakes.
      writeFileSync(config, Array.from({ length: 2_000 }, (_, at) => `unknown${at}: 1`).join('\n'));
      await until(async () => {
        child.kill('SIGHUP');
        return (await linesLost()) > 1;
      });
      answers.push(await chat());
      expect(answers.map(({ status }) => status)).toEqual([200, 503, 503, 503]);

      disk.free();
      await until(async () => (await fetch(new URL('/readyz', baseUrl))).ok);
      for (const { headers, status } of answers) {
        const recorded = async () => {
          const id = headers.get('x-request-id');
          const { records } = (await (await fetch(`${baseUrl}/usage?id=${id}`, bearer(secret))).json()) as {
            records: { http_status: number }[];
          };
          return records[0]?.http_status;
        };
        await until(async () => (await recorded()) === status);
      }
      const lost = expect.objectContaining({
        lines: await linesLost(),
        msg: expect.stringContaining('were lost'),
      });
      child.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
      const lines = readFileSync(log, 'utf8').trim().split('\n');
      expect(lines.map((line) => JSON.parse(line))).toContainEqual(lost);
    } finally {
      child.kill('SIGKILL');
      await ended;
      disk.release();
    }
  });
});
