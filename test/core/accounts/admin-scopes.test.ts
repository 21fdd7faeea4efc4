/** Admin keys with scopes: each admin RPC needs exactly one, on every wire, and no key gives more than it has. */
import { globSync, readFileSync } from 'node:fs';
import { create, type Message, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, expect, it } from 'vitest';
import { AdminService } from '../../../gen/parley/admin/v1/admin_service_pb.ts';
import { type AdminScope, adminScopes } from '../../../src/core/entities/key.ts';
import { adminRpcScopes } from '../../../src/core/rpcs.ts';
import { adminMethods } from '../../../src/core/services.ts';
import type { WireClient } from '../../conformance/wire.ts';
import { wires } from '../../conformance/wires.ts';
import { bearer, errorOf, startParley } from '../../support/parley.ts';

interface KeyJson {
  readonly id: string;
  readonly scopes: readonly string[];
  readonly expires_at?: string;
}

const parley = await startParley();
const clients = wires.map((open) =>
  open({ origin: new URL(parley.baseUrl).origin, adminKey: parley.adminKey }),
);
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await parley.close();
});

const post = (path: string, secret: string, body: object = {}) =>
  parley.postJson(`/admin${path}`, body, bearer(secret));

const get = async (path: string) =>
  (await (await parley.call(`/admin${path}`, bearer(parley.adminKey))).json()) as Record<string, object[]>;

async function issue(facts: object = {}, by = parley.adminKey): Promise<{ key: KeyJson; secret: string }> {
  const answer = await post('/keys', by, { name: 'test', ...facts });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { key: KeyJson; secret: string };
}

async function refusal(answer: Promise<Response>): Promise<unknown> {
  const { status, code } = await errorOf(await answer);
  return [status, code];
}

const forbidden = [403, 'insufficient_scope'];
const methods = Object.values(adminMethods);

/** A request that names an account or a key that does not exist, where the method takes one. */
function requestOf({ input }: (typeof methods)[number]): Message {
  const names = { accountId: 'nobody', keyId: 'key_none' };
  const known = Object.entries(names).filter(([name]) =>
    input.fields.some(({ localName }) => localName === name),
  );
  return create(input, Object.fromEntries(known) as MessageInitShape<typeof input>);
}

async function codeOf(client: WireClient, method: (typeof methods)[number], secret: string) {
  const headers = { authorization: `Bearer ${secret}` };
  return (await client.call({ method, requests: [requestOf(method)], headers })).error?.code;
}

it('has one scope for each RPC, and an RPC for each scope', () => {
  expect(Object.keys(adminRpcScopes).sort()).toEqual(Object.keys(AdminService.method).sort());
  expect([...new Set(Object.values(adminRpcScopes))].sort()).toEqual([...adminScopes].sort());
});

const widerScopes: Readonly<Record<string, string>> = {
  'alerts:read': 'alerts',
  'server:read': 'server',
  'audit:read': 'server',
};

it.each(adminScopes)('opens with `%s` its own RPCs and no other, on every wire', async (scope) => {
  const { secret: holder } = await issue({ scopes: [scope] });
  const { secret: other } = await issue({
    scopes: adminScopes.filter((name) => name !== scope && name !== widerScopes[scope]),
  });
  const ofScope = methods.filter(({ localName }) => scopeOf(localName) === scope);
  expect(ofScope.length).toBeGreaterThan(0);
  for (const method of ofScope) {
    for (const client of clients) {
      expect([method.name, client.name, await codeOf(client, method, other)]).toEqual([
        method.name,
        client.name,
        'insufficient_scope',
      ]);
    }
    const [rest] = clients;
    expect(rest && (await codeOf(rest, method, holder))).not.toBe('insufficient_scope');
  }
});

function scopeOf(name: string): AdminScope | undefined {
  return Object.entries(adminRpcScopes).find(([rpc]) => rpc === name)?.[1];
}

it('names the missing scope, and changes nothing', async () => {
  const { secret } = await issue({ scopes: ['accounts:read'] });
  const before = await get('/accounts/account-1');
  const answer = await post('/accounts/account-1/credits', secret, {
    amount: '1',
    reason: 'test',
    idempotency_key: 'scoped',
  });
  expect(await errorOf(answer)).toMatchObject({
    status: 403,
    code: 'insufficient_scope',
    message: expect.stringContaining('`credits:load`'),
  });
  expect(await get('/accounts/account-1')).toEqual(before);
});

it.each(Object.entries(widerScopes))(
  'has `%s` with `%s`, but not the other way round',
  async (scope, wider) => {
    const ofScope = methods.filter(({ localName }) => scopeOf(localName) === scope);
    expect(ofScope.length).toBeGreaterThan(0);
    const { secret } = await issue({ scopes: [wider, 'keys'] });
    const [rest] = clients;
    for (const method of ofScope)
      expect(rest && (await codeOf(rest, method, secret))).not.toBe('insufficient_scope');
    const { secret: narrow } = await issue({ scopes: [scope, 'keys'] }, secret);
    expect(await refusal(post('/keys', narrow, { name: 'wider', scopes: [wider] }))).toEqual(forbidden);
  },
);

it('has every scope that the console asks for', () => {
  const sources = globSync('console/app/**/*.tsx').map((path) => readFileSync(path, 'utf8'));
  const asked = sources.flatMap((text) => [...text.matchAll(/(?:mayDo\(session, |scope: )'([\w:]+)'/g)]);
  expect(asked.length).toBeGreaterThan(10);
  expect(
    asked.map(([, scope]) => scope).filter((scope) => !adminScopes.some((one) => one === scope)),
  ).toEqual([]);
});

it('reads the metrics with `server:read` alone', async () => {
  const metricsOf = async (secret: string) =>
    (await fetch(new URL('/metrics', parley.baseUrl), bearer(secret))).status;
  expect(await metricsOf((await issue({ scopes: ['server:read'] })).secret)).toBe(200);
  expect(await metricsOf((await issue({ scopes: ['usage:read'] })).secret)).toBe(403);
});

it('gives a new admin key no more scopes and no later end than it has itself', async () => {
  const expires = new Date(Date.now() + 3_600_000).toISOString();
  const { secret } = await issue({ scopes: ['keys', 'usage:read'], expires_at: expires });
  const { key } = await issue({}, secret);
  expect(key.scopes).toEqual(['keys', 'usage:read']);
  expect(Date.parse(key.expires_at ?? '')).toBe(Date.parse(expires));
  const later = new Date(Date.now() + 7_200_000).toISOString();
  for (const facts of [{ scopes: ['keys', 'server'] }, { scopes: ['keys'], expires_at: later }]) {
    expect(await refusal(post('/keys', secret, { name: 'wider', ...facts }))).toEqual(forbidden);
  }
  expect(await refusal(post('/keys', secret, { name: 'wider', scopes: [] }))).toEqual([
    400,
    'invalid_parameter',
  ]);
});

it('rotates and revokes no admin key with more rights', async () => {
  const { secret } = await issue({ scopes: ['keys', 'alerts'] });
  for (const wider of [await issue(), await issue({ scopes: ['keys', 'server'] })]) {
    expect(await refusal(post(`/keys/${wider.key.id}/rotate`, secret))).toEqual(forbidden);
    expect(await refusal(post(`/keys/${wider.key.id}/revoke`, secret))).toEqual(forbidden);
    expect((await post(`/keys/${wider.key.id}/revoke`, parley.adminKey)).status).toBe(200);
  }
  const narrower = await issue({ scopes: ['alerts'] });
  const rotated = (await (await post(`/keys/${narrower.key.id}/rotate`, secret)).json()) as { key: KeyJson };
  expect(rotated.key.scopes).toEqual(['alerts']);
});

it('shows scopes in the list and in the audit trail, and refuses those of accounts', async () => {
  const { key } = await issue({ scopes: ['credits:load'] });
  expect((await get('/keys?page_size=1000'))['keys']).toContainEqual(expect.objectContaining({ ...key }));
  const [entry] = (await get('/audit?page_size=1'))['entries'] ?? [];
  expect(entry).toMatchObject({ action: 'key.create', target: key.id });
  expect(JSON.stringify(entry)).toContain('credits:load');
  expect(await refusal(post('/keys', parley.adminKey, { name: 'a', scopes: ['chat'] }))).toEqual([
    400,
    'invalid_parameter',
  ]);
  expect(
    await refusal(post('/accounts/account-1/keys', parley.adminKey, { name: 'a', scopes: ['server'] })),
  ).toEqual([400, 'invalid_parameter']);
});

it('does not count as the admin key that a server needs', async () => {
  const { keys } = await get('/keys?page_size=1000');
  const live = (keys as { id: string; scopes?: string[]; revoked_at?: string }[]).filter(
    ({ scopes, revoked_at }) => scopes === undefined && revoked_at === undefined,
  );
  expect(await parley.app.store.keys.hasAdmin(Date.now())).toBe(true);
  const { secret } = await issue({ name: 'last' });
  for (const { id } of live) expect((await post(`/keys/${id}/revoke`, secret)).status).toBe(200);
  const { id } = (await parley.app.store.keys.list(undefined, { size: 1000, after: undefined })).items.find(
    ({ name }) => name === 'last',
  ) ?? { id: '' };
  expect((await post(`/keys/${id}/revoke`, secret)).status).toBe(200);
  expect(await parley.app.store.keys.hasAdmin(Date.now())).toBe(false);
});
