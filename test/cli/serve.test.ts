import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import Sqlite from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ended,
  type Folder,
  inShell,
  parley,
  printed,
  printedJson,
  type Serving,
  scratchFolder,
  serve,
  shellCommand,
  startParley,
  until,
} from '../support/command-line.ts';
import { freePort, startHttp } from '../support/http-server.ts';

/** A text whose audio takes seconds to make. */
const longText = 'The quick brown fox jumps over the lazy dog. '.repeat(20);

const noActivation =
  spawnSync('systemd-socket-activate', ['--version']).error &&
  ' (skipped: systemd-socket-activate is not installed)';

let folder: Folder;
let dataDir: string;
const newFolder = () => {
  folder = scratchFolder();
  dataDir = folder.file('data');
};

describe('a server on all addresses', () => {
  let server: Serving;
  beforeAll(async () => {
    newFolder();
    const env = { PARLEY_SERVER_UNREADY_MS: '1000' };
    server = await serve(['--data-dir', dataDir, '--host', '0.0.0.0'], { env });
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });

  it('keeps an address that can be called in the data folder, readable by its owner only', () => {
    const file = `${dataDir}/server.json`;
    const { baseUrl, ...others } = JSON.parse(readFileSync(file, 'utf8'));
    expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/);
    expect(others).toEqual({ adminBaseUrl: baseUrl, pid: server.pid, reloads: { count: 0 } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('keeps its data folder from another server, which says so in one line and exits with 1', async () => {
    const { code, stdout, stderr } = await parley(['serve', '--port', '0', '--data-dir', dataDir]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      `Another Parley is running on the data folder ${dataDir}. Stop it first, or choose another folder with --data-dir or PARLEY_DATA_DIR. If none runs, one was killed and another program, such as a backup, still reads its database: wait until that ends.\n`,
    );
  });

  it('ignores SIGHUP while it stops, and takes its address away', async () => {
    server.kill('SIGTERM');
    await until(() => server.stderr().includes('stopping'));
    server.kill('SIGHUP');
    expect(await server.ended).toEqual({ code: 0, signal: null });
    expect(existsSync(`${dataDir}/server.json`)).toBe(false);
  });

  it('has kept standard output empty, and its log in JSON lines on standard error', () => {
    expect(server.stdout()).toBe('');
    const lines = server.stderr().trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
      expect.stringMatching(/^no admin key: /),
      `listening on ${server.baseUrl}`,
      'stopping: running requests finish first',
    ]);
  });
});

describe('a server with a port for administration', () => {
  let server: Serving;
  const start = async () => {
    // A busy machine needs more than the ten seconds that streams have by default.
    const env = { PARLEY_SERVER_DRAIN_MS: '120000' };
    const args = ['--data-dir', dataDir, '--demo', '--config', folder.file('parley.yaml')];
    server = await serve(args, { env });
  };
  beforeAll(async () => {
    newFolder();
    writeFileSync(folder.file('parley.yaml'), 'admin: {port: 0}\n');
    await start();
  });
  afterAll(async () => {
    await server.close();
    folder.remove();
  });

  async function finishesStream(signal: NodeJS.Signals): Promise<void> {
    const { apiKey } = JSON.parse(readFileSync(`${dataDir}/first-run.json`, 'utf8'));
    const speak = () =>
      fetch(`${server.baseUrl}/audio/speech`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}` },
        body: JSON.stringify({ model: 'flite', input: longText, response_format: 'pcm' }),
      });
    const whole = (await (await speak()).arrayBuffer()).byteLength;
    const reader = (await speak()).body?.getReader();
    let bytes = (await reader?.read())?.value?.length ?? 0;
    server.kill(signal);
    await until(() => server.stderr().includes('stopping'));
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) break;
      bytes += part.value.length;
    }
    expect(bytes).toBe(whole);
    expect(await server.ended).toEqual({ code: 0, signal: null });
  }

  it('is managed by the commands', async () => {
    const { adminBaseUrl } = JSON.parse(readFileSync(`${dataDir}/server.json`, 'utf8'));
    expect(adminBaseUrl).not.toBe(server.baseUrl);
    for (const flags of [[], ['--base-url', adminBaseUrl]]) {
      expect(await printed(['account', 'list', '--data-dir', dataDir, ...flags])).toContain('demo');
    }
    expect(await printed(['models', '--data-dir', dataDir])).toContain('flite');
  });

  it('is found by the commands after it was killed and restarted', async () => {
    const { baseUrl } = server;
    await server.end();
    expect(await printed(['account', 'list', '--data-dir', dataDir])).toContain('demo');
    await start();
    expect(server.baseUrl).not.toBe(baseUrl);
    expect(await printed(['models', '--data-dir', dataDir])).toContain('flite');
  });

  it('lets a running stream finish after SIGTERM and after SIGINT, and exits with 0', async () => {
    await finishesStream('SIGTERM');
    await start();
    await finishesStream('SIGINT');
  });
});

describe('parley serve', () => {
  beforeEach(newFolder);
  afterEach(() => folder.remove());

  it('stops cleanly while it still opens', async () => {
    mkdirSync(dataDir);
    // Opening waits for the process that holds the database.
    const holder = new Sqlite(`${dataDir}/parley.db`);
    holder.exec('begin exclusive');
    chmodSync(`${dataDir}/parley.db`, 0o644);
    const opening = startParley(['serve', '--port', '0', '--data-dir', dataDir, '--demo']);
    const end = ended(opening);
    // The server makes the file private before it opens it.
    await until(() => (statSync(`${dataDir}/parley.db`).mode & 0o777) === 0o600);
    opening.kill('SIGINT');
    holder.close();
    expect(await end).toMatchObject({ code: 0, signal: null, stdout: '' });
    expect(existsSync(`${dataDir}/server.json`)).toBe(false);
    expect(await printedJson(['account', 'list', '--data-dir', dataDir])).toMatchObject({ accounts: [] });
  });

  it('says what replaces --workers', async () => {
    const { code, stderr } = await parley(['serve', '--workers', '2', '--data-dir', dataDir]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('Start several servers on the same PostgreSQL'),
    ]);
  });

  it('reads its configuration from a descriptor that it inherits', async () => {
    writeFileSync(folder.file('inherited.yaml'), `{server: {port: 0}, dataDir: '${dataDir}'}\n`);
    const script = 'exec 5<"$FILE"; exec "$@" serve --config /dev/fd/5';
    const { file, args, env } = shellCommand(script, [], { env: { FILE: folder.file('inherited.yaml') } });
    const child = spawn(file, args, { env });
    const end = ended(child);
    await until(() => existsSync(`${dataDir}/server.json`));
    child.kill('SIGTERM');
    expect(await end).toMatchObject({ code: 0, signal: null });
  });

  it('ends at SIGTERM while it reads its configuration from a pipe that stays open', async () => {
    const path = folder.file('pipe.yaml');
    execFileSync('mkfifo', [path]);
    const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    const isFull = () => {
      try {
        writeSync(pipe, '#'.repeat(4096));
        return false;
      } catch {
        return true;
      }
    };
    await until(isFull);
    const child = startParley(['serve', '--config', path]);
    const end = ended(child);
    await until(() => !isFull());
    child.kill('SIGTERM');
    expect(await end).toMatchObject({ signal: 'SIGTERM', stderr: '' });
    closeSync(pipe);
  });

  it.skipIf(noActivation)(`serves the socket that systemd passes${noActivation ?? ''}`, async () => {
    const port = await freePort();
    const script = `exec systemd-socket-activate -l 127.0.0.1:${port} "$@" serve --data-dir '${dataDir}'`;
    const { file, args, env } = shellCommand(script, [], {});
    const child = spawn(file, args, { env });
    const end = ended(child);
    await until(
      async () => (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok === true,
    );
    child.kill('SIGTERM');
    expect(await end).toMatchObject({ code: 0, signal: null });
  });

  it('says which port is in use, and how to choose another', async () => {
    const other = await startHttp(() => undefined);
    const { port } = new URL(other.origin);
    const { code, stderr } = await parley(['serve', '--data-dir', dataDir, '--port', port]);
    await other.close();
    expect(code).toBe(1);
    expect(stderr).toBe(
      `Port ${port} is in use: choose another with --port or PARLEY_PORT (0 takes any free one).\n`,
    );
  });

  it('says the same about the port for administration', async () => {
    const other = await startHttp(() => undefined);
    const { port } = new URL(other.origin);
    const env = { PARLEY_ADMIN_PORT: port };
    const said = `Port ${port} is in use: choose another with admin.port or PARLEY_ADMIN_PORT (0 takes any free one).\n`;
    const args = ['serve', '--data-dir', dataDir, '--port', '0'];
    expect(await parley(args, { env })).toMatchObject({ code: 1, stderr: said });
    await other.close();
  });

  it('says that the machine does not have the address', async () => {
    const { code, stderr } = await parley([
      'serve',
      '--data-dir',
      dataDir,
      '--port',
      '0',
      '--host',
      '192.0.2.1',
    ]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      '192.0.2.1 is not an address of this machine: choose another with --host or PARLEY_HOST.\n',
    );
  });

  it('says that a data folder cannot be used', async () => {
    writeFileSync(folder.file('taken'), '');
    const { code, stderr } = await parley(['serve', '--port', '0', '--data-dir', folder.file('taken/data')]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The data folder .*taken\/data cannot be used \(a part of its path is not a folder\)\. .*\n$/,
    );
  });

  const noProc = existsSync('/proc/self') ? '' : ' (skipped: this system has no /proc)';
  it.skipIf(noProc)(`says that no folder can be created there, and stops trying${noProc}`, async () => {
    for (const command of [
      ['serve', '--port', '0'],
      ['account', 'create', 'acme'],
    ]) {
      const child = startParley([...command, '--data-dir', '/proc/parley/data'], { timeoutMs: 170_000 });
      expect(await ended(child)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          /^The data folder \/proc\/parley\/data cannot be used \((no folder can be created there|permission denied)\)\. .*\n$/,
        ),
      });
    }
  });

  it('refuses a database with overwritten pages, and changes nothing', async () => {
    await printed(['account', 'create', 'ada', '--data-dir', dataDir]);
    const path = `${dataDir}/parley.db`;
    const intact = readFileSync(path);
    const connection = new Sqlite(path, { readonly: true });
    const pages = connection
      .prepare<[], number>("select rootpage from sqlite_schema where name in ('audit_entries', 'usage_rows')")
      .pluck()
      .all();
    connection.close();
    expect(pages).toHaveLength(2);
    for (const page of [1, ...pages]) {
      const start = page === 1 ? 100 : (page - 1) * 4096;
      const damaged = Buffer.from(intact).fill(0xa5, start, page * 4096);
      writeFileSync(path, damaged);
      const commands = [['serve', '--port', '0'], ...(page === 1 ? [['migrate']] : [])];
      for (const command of commands) {
        const { code, stderr } = await parley([...command, '--data-dir', dataDir]);
        expect([code, stderr]).toEqual([
          1,
          expect.stringMatching(/^The database .* is damaged .* parley restore FILE\.\n$/),
        ]);
      }
      expect(readFileSync(path).equals(damaged)).toBe(true);
    }
  });

  it('says that the working folder no longer exists', async () => {
    mkdirSync(folder.file('gone'));
    const script = 'rmdir "$PWD"; exec "$@" serve --port 0';
    expect(await inShell(script, { cwd: folder.file('gone') })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^The data folder \.\/data cannot be used: .* no longer exists\. Change to another, .*\n$/,
      ),
    });
  });

  it('shows only the problems of the configuration', async () => {
    const { code, stdout, stderr } = await parley(['serve', '--data-dir', dataDir, '--port', 'http']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toBe(
      'The configuration has 1 problem:\n  --port: `server.port` is "http", but must be a whole number from 0 to 65535.\n',
    );
    expect(existsSync(dataDir)).toBe(false);
  });
});
