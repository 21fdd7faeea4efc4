/** Starts the real program on a free port, with an account and a key to call it with. */
import { rmSync } from 'node:fs';
import { create } from '@bufbuild/protobuf';
import * as pb from '../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../gen/parley/management/v1/management_pb.ts';
import type { ConfigSource } from '../../src/app/configuration-file.ts';
import { type App, type AppOverrides, createApp } from '../../src/app/create-app.ts';
import { readPageFiles } from '../../src/app/page-files.ts';
import { type ConfigOptions, type ConfigOverrides, loadConfig } from '../../src/config/config.ts';
import { cliCall } from '../../src/core/access/call.ts';
import type { UsageRecord } from '../../src/core/entities/usage.ts';
import type { Clock } from '../../src/core/values/clock.ts';
import type { AccountId } from '../../src/core/values/ids.ts';
import type { PageFiles } from '../../src/transports/rest/page-routes.ts';
import { type Books, readBooks } from './books.ts';
import { administer, runsAsExecutable, startExecutable } from './parley-executable.ts';
import { sharedThreads } from './shared-threads.ts';
import { newStoreFolder, type StoreFolder, writingHere } from './store-folder.ts';

/** A clock that stands still until it is moved. */
export class TestClock implements Clock {
  nowMs: number;

  constructor(nowMs = Date.UTC(2026, 10, 10, 12)) {
    this.nowMs = nowMs;
  }

  now(): number {
    return this.nowMs;
  }
}

export interface ParleyOptions extends AppOverrides {
  readonly settings?: ConfigOverrides;
  /** A configuration file. Default: none, so that the defaults are tested. */
  readonly file?: string;
  /** A store with data. Default: a new one. */
  readonly folder?: StoreFolder;
}

export interface Parley {
  readonly app: App;
  readonly baseUrl: string;
  readonly dataDir: string;
  /** A key of an account with a running trial and 10 credits. */
  readonly apiKey: string;
  readonly adminKey: string;
  readonly accountId: AccountId;
  /** Calls with the key; `init.headers` may replace it. */
  call(path: string, init?: RequestInit): Promise<Response>;
  postJson(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  /** Calls a path below `/admin` with the admin key: GET, or POST with a body. */
  admin(path: string, body?: unknown): Promise<Response>;
  /** The text of `/metrics`. */
  metrics(): Promise<string>;
  /** A key of a new account, by default without plan and credits. */
  newKey(options?: NewKey): Promise<string>;
  /** The record of an answer, found by its `x-request-id`. */
  recordOf(response: Response): Promise<UsageRecord>;
  /** Reads the database as it is at this moment. */
  books(): Promise<Books>;
  close(): Promise<void>;
}

interface NewKey {
  readonly trial?: boolean;
  readonly credits?: string;
  readonly scopes?: string[];
}

export async function startParley(options: ParleyOptions = {}): Promise<Parley> {
  const started = runsAsExecutable(options) ? await startOutside(options) : await startInside(options);
  const { app, dataDir, adminKey, makeKey } = started;
  let accounts = 0;
  const newKey = (wanted: NewKey = {}) => makeKey(`account-${++accounts}`, wanted);

  const apiKey = await newKey({ trial: true, credits: '10' });
  const account = await app.store.accounts.find('account-1');
  if (account === undefined) throw new Error('the account was not made');

  const call = (path: string, init: RequestInit = {}) =>
    fetch(app.baseUrl + path, { ...init, headers: { authorization: `Bearer ${apiKey}`, ...init.headers } });

  return {
    app,
    baseUrl: app.baseUrl,
    dataDir,
    apiKey,
    adminKey,
    accountId: account.id,
    call,
    postJson: (path, body, init = {}) => call(path, { method: 'POST', body: JSON.stringify(body), ...init }),
    admin: (path, body) =>
      call(`/admin${path}`, {
        ...bearer(adminKey),
        ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      }),
    metrics: async () => (await fetch(new URL('/metrics', app.baseUrl), bearer(adminKey))).text(),
    newKey,
    books: () => started.books(),
    recordOf: (response) => findRecord(app, response.headers.get('x-request-id')),
    close: async () => {
      await app.close();
      await started.remove();
    },
  };
}

/** The configuration file as `parley serve` uses it. */
function sourceOf(options: ConfigOptions, path: string, reload: () => Promise<void>): ConfigSource {
  return {
    path,
    read: (text) => loadConfig({ ...options, text }),
    apply: () =>
      reload().then(
        () => undefined,
        (error: Error) => error.message,
      ),
    recogniser: () => 'pocketsphinx',
  };
}

let pages: PageFiles | undefined;

/** All servers of a test process share the files of the last build. */
function pagesOfBuild(): PageFiles {
  // A test may build them.
  if (!pages?.size) pages = readPageFiles();
  return pages;
}

interface Started {
  readonly app: App;
  readonly dataDir: string;
  readonly adminKey: string;
  books(): Promise<Books>;
  remove(): Promise<void>;
  /** A key of a new account of that name. */
  makeKey(name: string, options: NewKey): Promise<string>;
}

async function startInside({ settings, file, folder: given, ...overrides }: ParleyOptions): Promise<Started> {
  const folder = given ?? (await newStoreFolder());
  const options = {
    env: {},
    file,
    overrides: {
      ...settings,
      server: { port: 0, ...(settings?.['server'] as object | undefined) },
      // Tests may send any number of failed keys, except the tests of that limit.
      limits: { failedKeysPerMinuteMax: 0, ...(settings?.['limits'] as object | undefined) },
      ...folder.settings,
      log: { level: 'silent' },
    },
  };
  const config = loadConfig(options);
  const reload = () => app.reload(loadConfig(options));
  const source = file === undefined ? {} : { source: sourceOf(options, file, reload) };
  const app: App = await createApp(config, {
    ...sharedThreads(config, overrides),
    ...writingHere,
    pages: pagesOfBuild(),
    ...source,
    ...overrides,
  });
  const { accounts } = app.services;
  const { secret: adminKey } = await accounts.createAdminKey(
    create(pb.CreateAdminKeyRequestSchema, { name: 'test' }),
    cliCall,
  );
  const makeKey = async (name: string, { trial, credits, scopes = [] }: NewKey) => {
    await accounts.createAccount(create(pb.CreateAccountRequestSchema, { name }), cliCall);
    if (trial) await accounts.startTrial(create(pb.StartTrialRequestSchema, { accountId: name }), cliCall);
    if (credits) {
      const load = { accountId: name, amount: credits, reason: 'test', idempotencyKey: 'test' };
      await accounts.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
    }
    const request = create(keyPb.CreateKeyRequestSchema, { accountId: name, name, scopes });
    return (await accounts.createKey(request, cliCall)).secret;
  };
  return {
    app,
    adminKey,
    makeKey,
    dataDir: folder.path,
    books: () => folder.books(),
    remove: () => folder.remove(),
  };
}

async function startOutside(options: ParleyOptions): Promise<Started> {
  const executable = await startExecutable(options);
  const makeKey = async (name: string, { trial, credits, scopes }: NewKey) => {
    await administer(executable, '/accounts', { name });
    if (trial) await administer(executable, `/accounts/${name}/trial`, {});
    if (credits) {
      const load = { amount: credits, reason: 'test', idempotency_key: 'test' };
      await administer(executable, `/accounts/${name}/credits`, load);
    }
    const { secret } = await administer(executable, `/accounts/${name}/keys`, {
      name,
      ...(scopes && { scopes }),
    });
    return String(secret);
  };
  const { dataDir } = executable;
  return {
    ...executable,
    makeKey,
    books: async () => readBooks(dataDir),
    remove: async () => rmSync(dataDir, { recursive: true, force: true }),
  };
}

/** Records are written before an answer ends, but the server notices a moment later that a client left. */
async function findRecord(app: App, id: string | null): Promise<UsageRecord> {
  const deadline = Date.now() + 120_000;
  for (;;) {
    const { items } = await app.store.usage.list({}, { size: 1000, after: undefined });
    const record = items.find((item) => item.id === id);
    if (record && record.state !== 'started') return record;
    if (Date.now() > deadline) throw new Error(`no finished record ${id}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function bearer(key: string): RequestInit {
  return { headers: { authorization: `Bearer ${key}` } };
}

export interface ErrorBody {
  readonly error: { message: string; type: string; param: string | null; code: string };
}

/** The error of an answer, after a check of its members. */
export async function errorOf(response: Response): Promise<ErrorBody['error'] & { status: number }> {
  const { error } = (await response.json()) as ErrorBody;
  for (const member of ['message', 'type', 'param', 'code']) {
    if (!(member in error)) throw new Error(`the error has no ${member}`);
  }
  return { ...error, status: response.status };
}
