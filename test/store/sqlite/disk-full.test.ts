/** Full disks, exceeded quotas, removed data folders, and databases that another program locks. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ErrorInfoSchema, RetryInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/health/v1/health_pb.ts';
import { AdminService } from '../../../gen/parley/admin/v1/admin_service_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ChatCompletionChunkSchema, ChatCompletionSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import type { RequestStore } from '../../../src/core/entities/reservation.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { bearer, errorOf, type Parley, startParley } from '../../support/parley.ts';
import { replacing } from '../../support/replacing.ts';
import { withRequests } from '../../support/reservations.ts';
import { cannotMount, type SmallDisk, smallDisk } from '../../support/small-disk.ts';

/** Enough for a test in which nothing waits, even on a busy machine. */
const soon = { timeout: 120_000 };

/** Tests set `meanwhile` to act while an engine runs. */
const engine = { runs: 0, meanwhile: () => undefined as unknown };
const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
const work = () => {
  engine.runs++;
  engine.meanwhile();
};
/** Lets the sent data leave. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
const engines = withFakes({
  chat: fakeChat({
    complete: async () => {
      work();
      const choices = [{ message: { role: 'assistant' }, finishReason: 'stop' }];
      return create(ChatCompletionSchema, { choices, usage });
    },
    stream: async function* () {
      yield create(ChatCompletionChunkSchema, { choices: [{ delta: { content: 'some' } }] });
      await pause();
      work();
      yield create(ChatCompletionChunkSchema, { choices: [{ finishReason: 'stop' }], usage });
    },
  }),
  speech: fakeSpeech({
    synthesize: () => ({
      audio: (async function* () {
        yield Buffer.alloc(10, 1);
        await pause();
        work();
      })(),
      durationMs: () => 10,
    }),
  }),
  transcription: fakeTranscription({
    transcribe: async function* () {
      yield { kind: 'audio', durationMs: 1000 };
      work();
      yield { kind: 'done', durationMs: 1000, language: 'english' };
    },
  }),
});

/** A way to make writes fail, and to let them succeed again. */
interface Trouble {
  readonly what: string;
  /** The reason why this machine cannot do it. */
  readonly missing: string | undefined;
  /** Creates the place for data folders. Default: the folder for temporary files. */
  readonly prepare?: () => { readonly folder: string; readonly release: () => void };
  /** The reason in /readyz. */
  readonly reason: string;
  readonly begin: (dataDir: string) => void;
  readonly end: (dataDir: string) => void;
}

const unwritable = 'The database cannot be written.';

/** A small separate file system, full to the last byte. */
function fullDisk(): Trouble {
  let disk: SmallDisk | undefined;
  return {
    what: 'a full disk',
    reason: unwritable,
    missing: cannotMount,
    prepare: () => {
      disk = smallDisk();
      return disk;
    },
    begin: () => disk?.fill(),
    end: () => disk?.free(),
  };
}

/** The system refuses every write of this process to a file, as with an exceeded quota. */
function noFileSize(): Trouble {
  const prlimit = (...options: string[]) =>
    execFileSync('prlimit', ['--pid', String(process.pid), ...options])
      .toString()
      .trim();
  const before = hasProgram('prlimit') ? prlimit('--fsize', '--output', 'SOFT', '--noheadings', '--raw') : '';
  return {
    what: 'an exceeded quota',
    reason: unwritable,
    missing: before === '' ? 'prlimit is not installed' : undefined,
    begin: () => prlimit('--fsize=0:'),
    end: () => prlimit(`--fsize=${before}:`),
  };
}

function hasProgram(name: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`]);
    return true;
  } catch {
    return false;
  }
}

/** The database continues in files that nobody finds again. */
function movedAway(): Trouble {
  const elsewhere = (dataDir: string) => `${dataDir}.elsewhere`;
  return {
    what: 'a data folder that was moved away',
    missing: undefined,
    reason: 'The database is missing from the data folder.',
    begin: (dataDir) => renameSync(dataDir, elsewhere(dataDir)),
    end: (dataDir) => {
      if (existsSync(elsewhere(dataDir))) renameSync(elsewhere(dataDir), dataDir);
    },
  };
}

const hello = { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] };
const json = (body: object): RequestInit => ({ method: 'POST', body: JSON.stringify(body) });
function form(): RequestInit {
  const body = new FormData();
  body.append('file', new Blob(['audio']), 'a.wav');
  return { method: 'POST', body };
}
const operations: [string, string, () => RequestInit][] = [
  ['a chat', '/chat/completions', () => json(hello)],
  ['a streamed chat', '/chat/completions', () => json({ ...hello, stream: true })],
  ['speech', '/audio/speech', () => json({ model: 'flite', input: 'Hello.' })],
  ['a transcription', '/audio/transcriptions', form],
];
const readings: [string, string, () => RequestInit][] = [
  ['the catalog', '/models', () => ({})],
  ['the account', '/account', () => ({})],
];

let parley: Parley;
const errorsLogged: string[] = [];
const log = {
  info: () => undefined,
  warn: () => undefined,
  error: (_: object, message: string) => void errorsLogged.push(message),
};
const accountOf = async (key: string) =>
  (await (await parley.call('/account', bearer(key))).json()) as Record<string, unknown>;
const untouched = { balance_nano_credits: 10_000_000_000, held_nano_credits: 0, fair_use: { used_units: 0 } };
const named = (key: string, name: string) => ({
  headers: { authorization: `Bearer ${key}`, 'idempotency-key': name },
});

describe.each([fullDisk(), noFileSize(), movedAway()])('with $what', (trouble) => {
  const reason = trouble.missing === undefined ? '' : ` (skipped: ${trouble.missing})`;
  const where = process.env['TMPDIR'];
  let release: () => void = () => undefined;

  beforeEach(async () => {
    Object.assign(engine, { runs: 0, meanwhile: () => undefined });
    errorsLogged.length = 0;
    if (reason !== '') return;
    const place = trouble.prepare?.();
    if (place) process.env['TMPDIR'] = place.folder;
    release = place?.release ?? release;
    parley = await startParley({ engines, log });
  });
  afterEach(async () => {
    if (reason !== '') return;
    trouble.end(parley.dataDir);
    await parley.close();
    release();
    if (where === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = where;
  });

  it.skipIf(reason !== '').each([...operations, ...readings])(
    `%s fails clearly, and works again as soon as it can be recorded${reason}`,
    async (what, path, init) => {
      const isReading = readings.some(([name]) => name === what);
      const key = await parley.newKey({ trial: true, credits: '10' });
      trouble.begin(parley.dataDir);
      const refused: Response[] = [];
      for (let time = 0; time < 3; time++) {
        const response = await parley.call(path, { ...init(), ...bearer(key) });
        expect(await errorOf(response)).toMatchObject({ status: 503, code: 'overloaded', param: null });
        expect(response.headers.get('retry-after')).toBe('2');
        refused.push(response);
      }
      // Only a failed write shows that writes fail, so the first such request may have run.
      expect(engine.runs).toBeLessThanOrEqual(1);
      trouble.end(parley.dataDir);
      await expect.poll(() => accountOf(key), soon).toMatchObject(untouched);
      const response = await parley.call(path, { ...init(), ...bearer(key) });
      expect(response.status).toBe(200);
      await response.arrayBuffer();
      expect(await parley.recordOf(response)).toMatchObject({ state: 'ok' });
      // The refused requests get their records when the outage is over.
      for (const one of refused) {
        const expected = { state: 'failed', httpStatus: 503, code: 'overloaded', cost: undefined };
        expect(await parley.recordOf(one)).toMatchObject(expected);
      }
      // One line for the outage, one for the request that ran, and one for the records of the others.
      expect(errorsLogged).toEqual([
        expect.stringContaining(trouble.reason),
        ...(isReading ? [] : ['could not write the end of a request; trying again']),
        'could not record a request; trying again',
      ]);
    },
  );

  it.skipIf(reason !== '').each(operations)(
    `%s that cannot be settled fails, and its reservation is released without a restart${reason}`,
    async (_, path, init) => {
      const key = await parley.newKey({ trial: true, credits: '10' });
      engine.meanwhile = () => trouble.begin(parley.dataDir);
      const response = await parley.call(path, { ...init(), ...bearer(key) });
      const body = await response.text().catch(() => 'cut');
      expect(engine.runs).toBe(1);
      expect([200, 503]).toContain(response.status);
      if (response.status === 503) expect(body).toContain('"code":"overloaded"');
      else if (path === '/audio/speech') expect(body).toBe('cut');
      else expect(body).toMatch(/^data: .*"some".*\n\ndata: \{"error":\{.*"code":"overloaded"\}\}\n\n$/s);
      // Nor did it receive the end of the response.
      expect(body).not.toContain('"finish_reason":"stop"');
      engine.meanwhile = () => undefined;
      trouble.end(parley.dataDir);
      await expect.poll(() => accountOf(key), soon).toMatchObject(untouched);
      expect(await parley.recordOf(response)).toMatchObject({
        state: 'failed',
        httpStatus: 503,
        code: 'overloaded',
        cost: undefined,
      });
      const again = await parley.call(path, { ...init(), ...bearer(key) });
      expect(again.status).toBe(200);
      await again.arrayBuffer();
      expect(await accountOf(key)).not.toMatchObject(untouched);
    },
  );

  it.skipIf(reason !== '')(`refuses keys only for the usual reasons${reason}`, async () => {
    const revoked = await parley.newKey();
    const { keys } = (await (await parley.admin('/accounts/account-2/keys')).json()) as {
      keys: [{ id: string }];
    };
    await parley.call(`/admin/keys/${keys[0].id}/revoke`, { method: 'POST', ...bearer(parley.adminKey) });
    trouble.begin(parley.dataDir);
    const statusOf = async (key: string) => (await parley.call('/models', bearer(key))).status;
    expect(await statusOf(revoked)).toBe(401);
    expect(await statusOf(`pk_${'0'.repeat(57)}`)).toBe(401);
    expect(await statusOf(parley.apiKey)).toBe(503);
    expect(await statusOf(parley.adminKey)).toBe(403);
    const wrong = await parley.postJson('/chat/completions', { ...hello, model: 'nope' });
    expect(await errorOf(wrong)).toMatchObject({ status: 400, code: 'unknown_model' });
  });

  it.skipIf(reason !== '')(
    `fails a change of an administrator, who can repeat it later${reason}`,
    async () => {
      const change = { amount: '5', reason: 'test', idempotency_key: 'once' };
      const load = () => parley.admin('/accounts/account-1/credits', change);
      trouble.begin(parley.dataDir);
      expect(await errorOf(await load())).toMatchObject({ status: 503, code: 'overloaded' });
      trouble.end(parley.dataDir);
      expect((await load()).status).toBe(200);
      expect(await accountOf(parley.apiKey)).toMatchObject({ balance: '15' });
    },
  );

  it.skipIf(reason !== '')(`frees the Idempotency-Key of a failed request${reason}`, async () => {
    const key = await parley.newKey({ trial: true, credits: '10' });
    engine.meanwhile = () => trouble.begin(parley.dataDir);
    const init = { ...json(hello), ...named(key, 'once') };
    expect((await parley.call('/chat/completions', init)).status).toBe(503);
    engine.meanwhile = () => undefined;
    // The key stays claimed until the failure can be written.
    expect([409, 503]).toContain((await parley.call('/chat/completions', init)).status);
    trouble.end(parley.dataDir);
    const statusOf = async () => (await parley.call('/chat/completions', init)).status;
    await expect.poll(statusOf, soon).toBe(200);
    expect(engine.runs).toBe(2);
    const again = await parley.call('/chat/completions', init);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  it.skipIf(reason !== '')(
    `is not ready until a write succeeds, which it tries by itself${reason}`,
    async () => {
      expect(await readiness()).toEqual(ready);
      trouble.begin(parley.dataDir);
      await parley.call('/models');
      expect(await readiness()).toEqual({
        http: 503,
        reason: trouble.reason,
        grpc: ServingStatus.NOT_SERVING,
      });
      trouble.end(parley.dataDir);
      await expect.poll(readiness, soon).toEqual(ready);
    },
  );

  it.skipIf(reason !== '')(`answers overloaded on every wire, and to administrators${reason}`, async () => {
    trouble.begin(parley.dataDir);
    const { apiKey, adminKey } = parley;
    for (const transport of rpcTransports()) {
      const catalog = createClient(CatalogService, transport);
      const admin = createClient(AdminService, transport);
      const outcomes = [
        () => catalog.listModels({}, { headers: { authorization: `Bearer ${apiKey}` } }),
        () => admin.createAccount({ name: 'new' }, { headers: { authorization: `Bearer ${adminKey}` } }),
      ];
      for (const call of outcomes) {
        const error = await call().then(fail, ConnectError.from);
        expect([Code[error.code], error.findDetails(ErrorInfoSchema)[0]?.reason]).toEqual([
          'Unavailable',
          'overloaded',
        ]);
        expect(error.findDetails(RetryInfoSchema)[0]?.retryDelay?.seconds).toBe(2n);
      }
    }
    const change = { method: 'POST', body: '{"name":"new"}', ...bearer(adminKey) };
    const refused = await parley.call('/admin/accounts', change);
    expect(await errorOf(refused)).toMatchObject({ status: 503, code: 'overloaded' });
    expect(refused.headers.get('retry-after')).toBe('2');
    trouble.end(parley.dataDir);
    expect((await parley.call('/admin/accounts', change)).status).toBe(200);
  });
});

const ready = { http: 200, reason: undefined, grpc: ServingStatus.SERVING };

async function readiness() {
  const response = await fetch(new URL('/readyz', parley.baseUrl));
  const { reason } = (await response.json()) as { reason?: string };
  const [transport] = rpcTransports();
  const { status } = await createClient(Health, transport).check({});
  return { http: response.status, reason, grpc: status };
}

function rpcTransports() {
  const baseUrl = new URL(parley.baseUrl).origin;
  return [
    createGrpcTransport({ baseUrl }),
    createConnectTransport({ baseUrl, httpVersion: '1.1' }),
    createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  ] as const;
}

function fail(answer: unknown): never {
  throw new Error(`it was answered: ${JSON.stringify(answer)}`);
}

describe('with writes that keep failing for one request', () => {
  it('releases the reservations of the others', async () => {
    let isBroken = true;
    const ids: string[] = [];
    const server = await startParley({
      engines,
      log,
      openStore: async (dataDir) => {
        const store = await openStore(dataDir);
        const settle: RequestStore['settle'] = async (id, ...end) => {
          if (!ids.includes(id)) ids.push(id);
          if (isBroken || id === ids[0]) throw new Error('the disk is gone');
          return store.requests.settle(id, ...end);
        };
        return withRequests(store, { settle });
      },
    });
    try {
      const keys = [await server.newKey({ credits: '1' }), await server.newKey({ credits: '1' })] as const;
      for (const key of keys) {
        expect((await server.postJson('/chat/completions', hello, bearer(key))).status).toBe(500);
      }
      isBroken = false;
      const heldBy = async (key: string) =>
        ((await (await server.call('/account', bearer(key))).json()) as { held_nano_credits: number })
          .held_nano_credits;
      await expect.poll(() => heldBy(keys[1]), soon).toBe(0);
      expect(await heldBy(keys[0])).toBeGreaterThan(0);
    } finally {
      await server.close();
    }
  });
});

describe('with writes that fail between the claim on an Idempotency-Key and the reservation', () => {
  it('frees the key as soon as writes succeed, and records the failure', async () => {
    let isBroken = true;
    const broken = () => Promise.reject(new Error('the disk is gone'));
    const breaking = { reserve: broken, record: broken, settle: broken };
    const server = await startParley({
      engines,
      log,
      openStore: async (dataDir) => {
        const store = await openStore(dataDir);
        return { ...store, requests: replacing(store.requests, () => (isBroken ? breaking : {})) };
      },
    });
    try {
      const init = { ...json(hello), ...named(server.apiKey, 'once') };
      const response = await server.call('/chat/completions', init);
      expect(response.status).toBe(500);
      isBroken = false;
      const statusOf = async () => (await server.call('/chat/completions', init)).status;
      await expect.poll(statusOf, soon).toBe(200);
      expect(await server.recordOf(response)).toMatchObject({ state: 'failed', code: 'internal_error' });
    } finally {
      await server.close();
    }
  });
});

describe('a database that another program locks', () => {
  beforeAll(async () => {
    Object.assign(engine, { runs: 0, meanwhile: () => undefined });
    parley = await startParley({ engines, log });
  });
  afterAll(() => parley.close());

  /** Starts another process that holds a transaction open; returns the function that ends it. */
  async function holdDatabase(): Promise<() => Promise<unknown>> {
    const script = `
      const Sqlite = require('better-sqlite3');
      const connection = new Sqlite(process.argv[1]);
      connection.exec('begin immediate');
      console.log('held');
      process.stdin.resume().on('end', () => { connection.exec('rollback'); connection.close(); });`;
    const holder = spawn(process.execPath, ['-e', script, join(parley.dataDir, 'parley.db')]);
    const ended = once(holder, 'exit');
    await once(holder.stdout, 'data');
    return () => {
      holder.stdin.end();
      return ended;
    };
  }

  it('delays every request, and is never reported as an invalid key', async () => {
    const free = await holdDatabase();
    let answered = 0;
    const asked = operations.map(async ([, path, init]) => {
      const response = await parley.call(path, init());
      answered++;
      return response;
    });
    // The process can do other work meanwhile.
    expect((await fetch(new URL('/healthz', parley.baseUrl))).status).toBe(200);
    expect(answered).toBeLessThan(operations.length);
    await free();
    for (const response of await Promise.all(asked)) {
      expect(response.status).toBe(200);
      await response.arrayBuffer();
      expect(await parley.recordOf(response)).toMatchObject({ state: 'ok' });
    }
  });

  it('fails requests with overloaded if the lock stays, and changes nothing else', async () => {
    const free = await holdDatabase();
    const response = await parley.postJson('/chat/completions', hello);
    expect(await errorOf(response)).toMatchObject({ status: 503, code: 'overloaded' });
    expect(response.headers.get('retry-after')).toBe('2');
    await free();
    const statusOf = async () => (await parley.postJson('/chat/completions', hello)).status;
    await expect.poll(statusOf, soon).toBe(200);
    await expect.poll(() => accountOf(parley.apiKey), soon).toMatchObject({ held_nano_credits: 0 });
  });
});

describe('a read-only data folder', () => {
  const missing = cannotMount === undefined ? '' : ` (skipped: ${cannotMount})`;

  it.skipIf(missing !== '')(`is reported clearly when the server does not start${missing}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=1m', 'parley-test', folder]);
    try {
      const overrides = { dataDir: folder, server: { port: 0 }, log: { level: 'silent' } };
      await expect(createApp(loadConfig({ env: {}, overrides }), { engines })).rejects.toThrow(
        /EROFS: read-only file system/,
      );
    } finally {
      execFileSync('umount', [folder]);
      rmSync(folder, { recursive: true });
    }
  });
});

describe('a disk without room for a new database', () => {
  it.skipIf(cannotMount)('is the reason that the start names', async () => {
    const disk = smallDisk('100k');
    try {
      await expect(openStore(disk.folder)).rejects.toThrow('database or disk is full');
    } finally {
      disk.release();
    }
  });
});
