/** `serve --workers 2`: several processes on one port, and one that has the database. */
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatCredits, nanoCredits } from '../src/core/money.ts';
import { readBooks } from './support/books.ts';
import { type Folder, parley, type Serving, scratchFolder, serve, until } from './support/command-line.ts';
import { isAlive, workersOf } from './support/processes.ts';

const timeout = 60_000;
const hello = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 50 };
/** Long enough to still run when something happens to its worker. */
const long = { model: 'flite', input: 'Every word of this is spoken. '.repeat(100), response_format: 'pcm' };

interface Answer {
  readonly status: number;
  readonly body: string;
}

/** The one worker that a connection belongs to answers everything on it. */
class Connection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #origin: string;

  constructor(baseUrl: string) {
    this.#origin = new URL(baseUrl).origin;
  }

  send(method: string, path: string, key = '', body?: object): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const headers = { authorization: `Bearer ${key}` };
    const sent = request(this.#origin + path, { method, agent: this.#agent, headers });
    sent.on('response', (response) => {
      text(response).then((content) => resolve({ status: response.statusCode ?? 0, body: content }), reject);
    });
    sent.on('error', reject);
    sent.end(body && JSON.stringify(body));
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}

describe('a server with two workers', { timeout }, () => {
  let folder: Folder;
  let dataDir: string;
  let serving: Serving;
  let keys: { apiKey: string; adminKey: string };
  const connections: Connection[] = [];

  const start = async (settings: object = {}, ...args: string[]) => {
    writeFileSync(folder.file('parley.yaml'), JSON.stringify(settings));
    serving = await serve(['--data-dir', dataDir, '--workers', '2', '--demo', ...args], { cwd: folder.path });
    keys = JSON.parse(readFileSync(join(dataDir, 'first-run.json'), 'utf8'));
  };
  const connect = () => {
    const connection = new Connection(serving.baseUrl);
    connections.push(connection);
    return connection;
  };
  /** Round robin: each of two connections goes to another worker. */
  const oneOfEach = async () => {
    const pair = [connect(), connect()] as const;
    for (const connection of pair) await connection.send('GET', '/healthz');
    return pair;
  };
  const chat = (connection: Connection, key = keys.apiKey) =>
    connection.send('POST', '/api/v1/chat/completions', key, hello);
  const admin = async (method: string, path: string, body?: object) => {
    const answer = await connect().send(method, `/api/v1/admin${path}`, keys.adminKey, body);
    expect(answer.status).toBe(200);
    return JSON.parse(answer.body);
  };
  const newAccount = async (name: string, amount: string) => {
    await admin('POST', '/accounts', { name });
    await admin('POST', `/accounts/${name}/credits`, { amount, reason: 'test', idempotency_key: 'test' });
    const { key, secret } = await admin('POST', `/accounts/${name}/keys`, { name });
    return { id: String(key.id), secret: String(secret) };
  };
  const logged = (message: string) =>
    serving
      .stderr()
      .split('\n')
      .filter((line) => line.includes(message));

  beforeEach(() => {
    folder = scratchFolder();
    dataDir = folder.file('data');
  });
  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.close();
    await serving?.close();
    folder.remove();
  });

  it('answers on both, and counts for both', async () => {
    await start();
    const [one, other] = await oneOfEach();
    for (const connection of [one, other, one, other]) expect((await chat(connection)).status).toBe(200);
    for (const connection of [one, other]) {
      expect((await connection.send('GET', '/readyz')).status).toBe(200);
      const { body } = await connection.send('GET', '/metrics', keys.adminKey);
      expect(body).toMatch(/^parley_requests_total\{operation="chat",.*state="ok".*\} 4$/m);
    }
    const books = readBooks(dataDir);
    expect([books.faults, books.records.length]).toEqual([[], 4]);
  });

  it('holds exactly the credits that there are, whichever worker is asked', async () => {
    await start();
    const covered = 20;
    const hold = 100n * BigInt(JSON.stringify(hello).length) + 400n * 50n;
    const credits = nanoCredits(BigInt(covered) * hold);
    const { secret } = await newAccount('busy', formatCredits(credits));
    const all = Array.from({ length: 200 }, () => chat(connect(), secret));
    const answers = await Promise.all(all);
    const { faults, accounts, records, entries } = readBooks(dataDir);
    expect(faults).toEqual([]);
    const own = records.filter(({ account }) => account === 'busy');
    const well = own.filter(({ state }) => state === 'ok');
    expect(answers.filter(({ status }) => status === 200).length).toBe(well.length);
    expect(answers.filter(({ status }) => status === 402).length).toBe(own.length - well.length);
    expect(well.length).toBeGreaterThanOrEqual(covered);
    const spent = well.reduce((sum, { cost = 0n }) => sum + cost, 0n);
    expect(accounts).toContainEqual({ name: 'busy', balance: credits - spent, held: 0n });
    expect(entries.filter(({ account, kind }) => account === 'busy' && kind === 'debit').length).toBe(
      well.length,
    );
  });

  it('refuses a revoked key on every worker from the moment that the revocation is acknowledged', async () => {
    await start();
    const pair = await oneOfEach();
    for (let round = 0; round < 5; round++) {
      const { id, secret } = await newAccount(`revoked-${round}`, '1');
      for (const connection of pair) expect((await chat(connection, secret)).status).toBe(200);
      await admin('POST', `/keys/${id}/revoke`, {});
      const after = await Promise.all(pair.map((connection) => chat(connection, secret)));
      expect(after.map(({ status }) => status)).toEqual([401, 401]);
    }
  });

  it('limits failed keys over all workers', async () => {
    await start({ limits: { failedKeysPerMinuteMax: 4 } });
    const [one, other] = await oneOfEach();
    const statuses: number[] = [];
    for (const connection of [one, other, one, other, one, other])
      statuses.push((await chat(connection, 'pk_wrong')).status);
    expect(statuses).toEqual([401, 401, 401, 401, 429, 429]);
    expect((await chat(other)).status).toBe(200);
  });

  it('frees at once what a killed worker held, takes in another, and serves on with the rest', async () => {
    await start();
    const [one, other] = await oneOfEach();
    const speaking = [one, other].map((connection) =>
      connection.send('POST', '/api/v1/audio/speech', keys.apiKey, long).then(
        ({ status }) => status,
        () => 'cut' as const,
      ),
    );
    const started = () => readBooks(dataDir).records.filter(({ state }) => state === 'started');
    await until(() => started().length === 2);
    const before = workersOf(serving.pid);
    expect(before.length).toBe(2);
    process.kill(before[0] ?? 0, 'SIGKILL');
    await until(() => logged('released what a worker had left open').length === 1);
    const { records, faults } = readBooks(dataDir);
    expect(faults).toEqual([]);
    expect(records.map(({ state }) => state).toSorted()).toEqual(['interrupted', 'started']);
    // Whichever worker takes it, there is one.
    expect((await chat(connect())).status).toBe(200);
    expect((await Promise.all(speaking)).toSorted()).toEqual([200, 'cut']);
    await until(() => workersOf(serving.pid).length === 2 && logged('a worker has started').length === 1);
    for (const connection of await oneOfEach()) expect((await chat(connection)).status).toBe(200);
    const books = readBooks(dataDir);
    expect(books.faults).toEqual([]);
    expect(books.units.map(({ used, reserved }) => [used, reserved])).toEqual([[long.input.length, 0]]);
  });

  it('frees the Idempotency-Key of a request whose worker was killed', async () => {
    await start();
    const once = (body: object) =>
      fetch(`${serving.baseUrl}/audio/speech`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.apiKey}`, 'idempotency-key': 'once' },
        body: JSON.stringify(body),
      });
    const short = { ...long, input: 'Hello.' };
    const cut = once(long).then((response) => response.arrayBuffer());
    cut.catch(() => undefined);
    await until(() => readBooks(dataDir).records.length === 1);
    expect((await once(long)).status).toBe(409);
    for (const pid of workersOf(serving.pid)) process.kill(pid, 'SIGKILL');
    await expect(cut).rejects.toThrow();
    // All workers were gone, and with them who listens: the next have the same port.
    await until(() => logged('a worker has started').length === 2);
    expect((await once(short)).status).toBe(200);
  });

  it('ends all workers when the process that has the database is killed, and recovers at the next start', async () => {
    await start();
    const [one] = await oneOfEach();
    // Its connection is cut, or it is told of an error where its answer has not begun.
    const cut = one.send('POST', '/api/v1/audio/speech', keys.apiKey, long).then(
      ({ status }) => status,
      () => 500,
    );
    await until(() => readBooks(dataDir).records.length === 1);
    const workers = workersOf(serving.pid);
    serving.kill('SIGKILL');
    await serving.ended;
    expect(await cut).toBeGreaterThanOrEqual(500);
    await until(() => !workers.some(isAlive));
    await start();
    const { records, units } = readBooks(dataDir);
    expect(records.map(({ state }) => state)).toEqual(['interrupted']);
    expect(units.map(({ used, reserved }) => [used, reserved])).toEqual([[0, 0]]);
  });

  it('is unready first when told to stop, lets requests finish on all workers, and ends with 0', async () => {
    await start({ server: { unreadyMs: 5_000, drainMs: 60_000 } });
    const pair = await oneOfEach();
    const speaking = pair.map((connection) =>
      connection.send('POST', '/api/v1/audio/speech', keys.apiKey, long),
    );
    await until(() => readBooks(dataDir).records.length === 2);
    const watching = connect();
    serving.kill('SIGTERM');
    // As a terminal or a service manager does, all of its processes are told.
    for (const pid of workersOf(serving.pid)) process.kill(pid, 'SIGTERM');
    await expect.poll(async () => (await watching.send('GET', '/readyz')).status).toBe(503);
    expect((await chat(watching)).status).toBe(200);
    expect((await Promise.all(speaking)).map(({ status }) => status)).toEqual([200, 200]);
    expect(await serving.ended).toEqual({ code: 0, signal: null });
    expect(existsSync(join(dataDir, 'server.json'))).toBe(false);
    const { faults, records } = readBooks(dataDir);
    expect([faults, records.map(({ state }) => state)]).toEqual([[], ['ok', 'ok', 'ok']]);
  });

  it('takes over a configuration at SIGHUP on all workers, and one with a fault on none', async () => {
    const file = folder.file('parley.yaml');
    await start({ fairUse: { trialUnitsPerMonth: 1_000 } });
    const pair = await oneOfEach();
    const limits = async () => {
      const answers = pair.map((connection) => connection.send('GET', '/api/v1/account', keys.apiKey));
      return (await Promise.all(answers)).map(({ body }) => JSON.parse(body).fair_use.limit_units);
    };
    const reload = async (settings: object, message: string) => {
      const { length } = logged(message);
      writeFileSync(file, JSON.stringify(settings));
      serving.kill('SIGHUP');
      await until(() => logged(message).length > length);
    };
    expect(await limits()).toEqual([1_000, 1_000]);
    await reload({ fairUse: { trialUnitsPerMonth: 77 } }, 'took over the new configuration');
    expect(await limits()).toEqual([77, 77]);
    const other = { fairUse: { trialUnitsPerMonth: 55 } };
    await reload({ ...other, server: { drainMs: 1 } }, 'was not taken over');
    await reload({ ...other, models: [{ id: 'x' }] }, 'was not taken over');
    expect(await limits()).toEqual([77, 77]);
    // One that takes the place of another has what all have.
    process.kill(workersOf(serving.pid)[0] ?? 0, 'SIGKILL');
    await until(() => logged('a worker has started').length === 1);
    for (let call = 0; call < 4; call++) {
      const { body } = await connect().send('GET', '/api/v1/account', keys.apiKey);
      expect(JSON.parse(body).fair_use.limit_units).toBe(77);
    }
  });

  it('says what keeps it from starting in the words of a server with one process', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const serveAt = (...args: string[]) =>
      parley(['serve', '--data-dir', dataDir, '--workers', '2', ...args]);
    const taken = await serveAt('--port', String(port));
    other.close();
    expect([taken.code, taken.stderr]).toEqual([
      1,
      `Port ${port} is in use: choose another with --port or PARLEY_PORT (0 takes any free one).\n`,
    ]);
    const elsewhere = await serveAt('--port', '0', '--host', '192.0.2.1');
    expect([elsewhere.code, elsewhere.stderr]).toEqual([
      1,
      '192.0.2.1 is not an address of this machine: choose another with --host or PARLEY_HOST.\n',
    ]);
    const none = await serveAt('--workers', '0');
    expect([none.code, none.stderr]).toEqual([
      1,
      'The configuration has 1 problem:\n  --server-workers: `server.workers` is 0, but must be a whole number from 1 to 256.\n',
    ]);
    await start();
    const again = await serveAt('--port', '0');
    expect([again.code, again.stderr]).toEqual([
      1,
      `Another Parley is running on the data folder ${dataDir}. Stop it first, or choose another folder with --data-dir or PARLEY_DATA_DIR.\n`,
    ]);
  });
});
