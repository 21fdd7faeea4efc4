/** Runs every operation of the OpenAPI document to every status that it states, and checks the answers against it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { OpenStore } from '../../../src/app/base.ts';
import { rpcTable } from '../../../src/core/rpcs.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { isObject } from '../../../src/core/values/json.ts';
import { openStore as openSqliteStore } from '../../../src/store/sqlite/open-store.ts';
import { restRoutes } from '../../../src/transports/rest/routes.ts';
import { play, playingEngines, recording, type Step } from '../../conformance/play.ts';
import { ApiDocument, type ApiOperation } from '../../support/api-document.ts';
import { codeIn, type MailServer, startMailServer } from '../../support/mail-server.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import { tinyEngine } from '../../support/tiny-program.ts';
import { startReceiver, toReceivers, type WebhookReceiver } from '../../support/webhook-receiver.ts';

const document = new ApiDocument();

/** Statuses that other tests check against the document. */
const elsewhere: ReadonlySet<string> = new Set([
  // probe-routes.test.ts: a server that stops.
  'getReadiness 503',
  // core/accounts/configuration.test.ts: a server with a file.
  'adminChangeConfiguration 200',
  'adminUndoConfigurationChange 200',
]);

let parley: Parley;
/** This server allows one failed key. */
let wary: Parley;
let plainKey: string;
let managerKey: string;
let webhooks: WebhookReceiver;
let mails: MailServer;
/** The current error of the database; undefined for none. */
let trouble: Error | undefined;

beforeAll(async () => {
  webhooks = await startReceiver();
  mails = await startMailServer();
  const smtp = { host: '127.0.0.1', port: mails.port, tls: 'none', from: 'parley@example.com' };
  const pages = new Map([['api/v1/openapi.json', Buffer.from('{"openapi":"3.1.1"}')]]);
  const limits = { chatBodyBytesMax: 65_536, speechBodyBytesMax: 65_536 };
  const engines = playingEngines();
  parley = await startParley({
    engines,
    pages,
    openStore: openBreakable,
    settings: {
      limits,
      alerts: { ...toReceivers, smtp: { ...smtp, holdersMaySet: true } },
      engines: { tiny: tinyEngine() },
    },
  });
  wary = await startParley({ engines, settings: { limits: { failedKeysPerMinuteMax: 1 } } });
  plainKey = await parley.newKey();
  const scopes = ['speech', 'transcription', 'chat', 'manage'];
  const manager = await administer(`/accounts/${parley.accountId}/keys`, { name: 'manager', scopes });
  managerKey = String(manager['secret']);
});
afterAll(() => Promise.all([parley.close(), wary.close(), webhooks.close(), mails.close()]));

/** The real store, with operations that fail on command. */
const openBreakable: OpenStore = async (...args) => {
  const breakable = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value === 'object' && value !== null) return breakable(value);
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) =>
          trouble === undefined || name === 'close' ? value.apply(target, given) : Promise.reject(trouble);
      },
    });
  return breakable(await openSqliteStore(...args));
};

interface Change {
  readonly server?: Parley;
  /** Undefined sends no body. */
  readonly key?: string | undefined;
  readonly query?: string;
  readonly pathValue?: string;
  readonly idempotencyKey?: string;
  /** The script of the engine, if the operation has one. Default: `say one`. */
  readonly step?: Step;
  /** Members that replace those of the example. */
  readonly members?: Readonly<Record<string, unknown>>;
  /** Replaces the whole body. */
  readonly body?: string;
}

async function send(operation: ApiOperation, change: Change = {}): Promise<Response> {
  const { server = parley, idempotencyKey } = change;
  const query = change.query ?? (operation.path.endsWith('/statement') ? '?month=2026-11' : '');
  const key = 'key' in change ? change.key : ownKey(operation);
  const path = await filled(operation, change.pathValue);
  const body = operation.verb === 'POST' ? bodyOf(operation, change) : undefined;
  return fetch(new URL(path + query, server.baseUrl), {
    method: operation.verb,
    headers: {
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(typeof body === 'string' && {
        'content-type': isForm(operation) ? 'multipart/form-data; boundary=b' : 'application/json',
      }),
    },
    ...(body !== undefined && { body }),
  });
}

function isForm({ json }: ApiOperation): boolean {
  return JSON.stringify(json['requestBody'] ?? {}).includes('multipart/form-data');
}

function isForAdmins({ json }: ApiOperation): boolean {
  return JSON.stringify(json['security']).includes('adminKey');
}

/** Whether it needs the scope `manage`. */
function isManagement({ path }: ApiOperation): boolean {
  return /\/v1\/(alerts|keys|ledger|usage\/totals)/.test(path);
}

function ownKey(operation: ApiOperation): string | undefined {
  if (JSON.stringify(operation.json['security']) === '[]') return undefined;
  if (isForAdmins(operation)) return parley.adminKey;
  return isManagement(operation) ? managerKey : parley.apiKey;
}

/** The members that contain the text of a request, by the operation's id. */
function textMembers(id: string, text: string): Record<string, unknown> {
  if (id === 'createChatCompletion') return { messages: [{ role: 'user', content: text }] };
  if (id === 'createMessage') return { messages: [{ role: 'user', content: text }] };
  if (id === 'createCompletion') return { prompt: text };
  if (id === 'createResponse') return { input: text };
  if (/(Load|Unload)Engine$/.test(id)) return { name: 'tiny' };
  return id === 'synthesizeSpeech' ? { input: text, voice: 'one' } : {};
}

function bodyOf(operation: ApiOperation, { body, step = 'say one', members }: Change): string | FormData {
  if (body !== undefined) return body;
  if (isForm(operation)) {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(recording(step))]), 'a.wav');
    return form;
  }
  const example = exampleOf(operation);
  return JSON.stringify({
    ...example,
    ...nameOf(example),
    ...textMembers(operation.id, play(step)),
    ...members,
  });
}

function exampleOf({ json }: ApiOperation): Record<string, unknown> {
  const { requestBody } = json;
  const text = JSON.stringify(requestBody);
  const parsed = JSON.parse(text) as {
    content: { 'application/json': { example: Record<string, unknown> } };
  };
  return parsed.content['application/json'].example;
}

let names = 0;
/** Names must be unique. */
function nameOf(example: Record<string, unknown>): Record<string, string> {
  return 'name' in example ? { name: `name-${++names}` } : {};
}

/** The path with values in place of its parameters: a new account, a new key, a model. */
async function filled({ id, path }: ApiOperation, value?: string): Promise<string> {
  if (value !== undefined) return path.replace(/\{\w+\}/, value);
  if (path.includes('{account_id}'))
    return path.replace('{account_id}', await newAccount(id === 'adminEndPlan'));
  if (path.includes('{key_id}')) {
    const account = path.includes('/admin/') ? await newAccount(false) : parley.accountId;
    return path.replace('{key_id}', await newKeyId(account));
  }
  return path.replace('{id}', 'eliza');
}

async function administer(path: string, body: object): Promise<Record<string, unknown>> {
  return (await parley.admin(path, body)).json() as Promise<Record<string, unknown>>;
}

async function newAccount(withTrial: boolean): Promise<string> {
  const { id } = await administer('/accounts', { name: `account-of-test-${++names}` });
  if (withTrial) await administer(`/accounts/${id}/trial`, {});
  return String(id);
}

async function newKeyId(account: string): Promise<string> {
  const { key } = await administer(`/accounts/${account}/keys`, { name: 'a' });
  return (key as { id: string }).id;
}

/** How to get each status. */
const plays: Readonly<Record<string, (operation: ApiOperation) => Promise<Response>>> = {
  200: async (operation) => {
    const isOfMail = /(SendMailConfirmation|ConfirmMailAddress)$/i.test(operation.id);
    if (!isOfMail && !/sendTestAlert/i.test(operation.id)) return send(operation);
    const pathValue = isForAdmins(operation) ? await newAccount(false) : parley.accountId;
    const address = `${operation.id}@example.com`;
    // An address that has just got a code gets no other.
    if (/send/i.test(operation.id)) mails.refusedAddresses.set(address, 550);
    const settings = isOfMail ? { mail_addresses: [address] } : { webhook_url: webhooks.origin };
    await administer(`/accounts/${pathValue}/alerts/settings`, { settings });
    mails.refusedAddresses.clear();
    const [mail] = mails.received.filter(({ to }) => to.includes(address));
    const members = mail === undefined ? { address } : { code: codeIn(mail) };
    return send(operation, { pathValue, ...(isOfMail && { members }) });
  },
  400: (operation) =>
    operation.verb === 'POST'
      ? send(operation, { body: '{' })
      : send(operation, { query: '?nope=1&type=nope&model=nope' }),
  401: (operation) => send(operation, { key: undefined }),
  402: (operation) =>
    isForAdmins(operation)
      ? send(operation, { members: { amount: '-5' } })
      : send(operation, { key: plainKey }),
  403: async (operation) => {
    if (!isForAdmins(operation)) return send(operation, { key: parley.adminKey });
    return send(operation, { key: parley.apiKey });
  },
  404: (operation) => {
    if (operation.path.includes('{')) return send(operation, { pathValue: 'nobody' });
    return operation.verb === 'POST'
      ? send(operation, { members: { [/Engine$/.test(operation.id) ? 'name' : 'account_id']: 'nobody' } })
      : send(operation, { query: '?account_id=nobody' });
  },
  409: async (operation) => {
    const idempotencyKey = `once-${operation.id}`;
    if (!isForAdmins(operation)) {
      await send(operation, { idempotencyKey });
      return send(operation, { idempotencyKey, step: 'say two' });
    }
    const pathValue = await newAccount(false);
    await send(operation, { pathValue });
    return send(operation, { pathValue, members: { amount: '26' } });
  },
  413: (operation) => send(operation, { body: ' '.repeat(4_300_000) }),
  429: async (operation) => {
    // The first of each minute is answered with 401, so two in a row may be.
    const again = () => send(operation, { server: wary, key: undefined, pathValue: 'any' });
    let response = await again();
    for (let tries = 0; tries < 2 && response.status === 401; tries++) response = await again();
    return response;
  },
  500: (operation) => withTrouble(new Error('a fault of the program'), operation),
  502: (operation) => send(operation, { step: 'fail upstream_error' }),
  503: (operation) => withTrouble(new ParleyError('overloaded', { retryAfterSeconds: 2 }), operation),
};

async function withTrouble(error: Error, operation: ApiOperation): Promise<Response> {
  const pathValue = operation.path.includes('{') ? 'any' : undefined;
  trouble = error;
  try {
    return await send(operation, { ...(pathValue !== undefined && { pathValue }) });
  } finally {
    trouble = undefined;
  }
}

const pairs = document.operations.flatMap((operation) => {
  const { responses } = operation.json;
  const statuses = Object.keys(isObject(responses) ? responses : {}).filter((status) => status !== 'default');
  return statuses.map((status) => [operation.id, status, operation] as const);
});

describe('the OpenAPI document', () => {
  it.each(pairs.filter(([id, status]) => !elsewhere.has(`${id} ${status}`)))(
    'describes %s with status %s',
    async (_id, status, operation) => {
      const response = await plays[status]?.(operation);
      if (response === undefined) throw new Error(`nothing plays the status ${status}`);
      const body = Buffer.from(await response.arrayBuffer());
      expect(response.status, body.toString().slice(0, 300)).toBe(Number(status));
      const headers = Object.fromEntries(response.headers);
      expect(document.faultsOf(operation, { status: response.status, headers, body })).toEqual([]);
    },
  );

  it('has every path of the server', async () => {
    const listed = new Set(
      document.operations.map(({ verb, path }) => `${verb} ${path.replace(/\{\w+\}/g, '{}')}`),
    );
    const limits = { speechBodyBytesMax: 1, chatBodyBytesMax: 1, requestElementsMax: 1 };
    const routes = restRoutes(rpcTable(parley.app.services), limits, () => true);
    const served = routes.map(({ rule }) => `${rule.verb} ${rule.path.replace(/:\w+|\*/g, '{}')}`);
    expect(served.filter((path) => !listed.has(path))).toEqual([]);
    expect(served.length).toBeGreaterThan(25);
  });
});
