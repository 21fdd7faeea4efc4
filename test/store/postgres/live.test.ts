/** Live sessions on two nodes of one PostgreSQL. */
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../../gen/parley/management/v1/management_pb.ts';
import { type App, createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { LiveClient } from '../../support/live-client.ts';
import { Ear, rate } from '../../support/live-ear.ts';
import { readPostgresBooks } from '../../support/postgres/books.ts';
import { newDatabase, type TestDatabase } from '../../support/postgres/database.ts';
import { DatabaseProxy } from '../../support/postgres/proxy.ts';

const seconds = (count: number) => new Int16Array(count * rate);

let database: TestDatabase;
let proxy: DatabaseProxy;
let nodes: readonly App[];
let ears: readonly Ear[];
let key: { readonly id: string; readonly secret: string };

async function startNode(ear: Ear, url: string): Promise<App> {
  const overrides = {
    server: { port: 0 },
    store: { kind: 'postgres', url },
    fairUse: { trialUnitsPerMonth: 30, transcriptionUnitsPerSecond: 1 },
    log: { level: 'silent' },
  };
  const transcription = fakeTranscription({ openSpeaker: () => ear.openSpeaker() });
  return createApp(loadConfig({ env: {}, overrides }), { engines: withFakes({ transcription }) });
}

beforeEach(async () => {
  database = await newDatabase();
  proxy = await DatabaseProxy.open(database.url);
  ears = [new Ear(), new Ear()];
  // The first node reaches the database through the proxy.
  const urls = [proxy.url, database.url];
  nodes = await Promise.all(ears.map((ear, at) => startNode(ear, urls[at] ?? '')));
  const accounts = nodes[1]?.services.accounts;
  await accounts?.createAccount(create(pb.CreateAccountRequestSchema, { name: 'a' }), cliCall);
  await accounts?.startTrial(create(pb.StartTrialRequestSchema, { accountId: 'a' }), cliCall);
  const made = await accounts?.createKey(
    create(keyPb.CreateKeyRequestSchema, { accountId: 'a', name: 'a' }),
    cliCall,
  );
  key = { id: made?.key?.id ?? '', secret: made?.secret ?? '' };
});
afterEach(async () => {
  await proxy.restore();
  await Promise.all(nodes.map((node) => node.close()));
  await proxy.close();
  await database.drop();
});

/** A session on a node, with a turn of which this much has been heard. */
async function speaking(node: number, length: number): Promise<LiveClient> {
  const client = new LiveClient({ baseUrl: nodes[node]?.baseUrl ?? '', apiKey: key.secret });
  client.configure();
  client.speak(seconds(length));
  await expect.poll(() => ears[node]?.turns.at(-1)?.seconds).toBe(length);
  return client;
}

const used = async () => {
  const { faults, units } = await readPostgresBooks(database);
  expect(faults).toEqual([]);
  return units.map((one) => [one.used, one.reserved]);
};

describe('a session', () => {
  it('ends with the audio that is reserved once another node has revoked its key', async () => {
    const client = await speaking(0, 6);
    await nodes[1]?.services.accounts.revokeKey(
      create(keyPb.RevokeKeyRequestSchema, { keyId: key.id }),
      cliCall,
    );
    const models = `${nodes[0]?.baseUrl}/models`;
    const authorization = `Bearer ${key.secret}`;
    // Nodes keep a key for a second at most.
    await expect.poll(async () => (await fetch(models, { headers: { authorization } })).status).toBe(401);
    client.speak(seconds(6));
    expect(await client.ended).toBe('invalid_api_key');
    expect(client.all('turn')).toMatchObject([{ seconds: 10 }]);
    expect(await used()).toEqual([[10, 0]]);
  });

  it('shares the fair use of the month with sessions on another node', async () => {
    const clients = await Promise.all([speaking(0, 6), speaking(1, 6)]);
    for (const client of clients) client.speak(seconds(30));
    expect(await Promise.all(clients.map(({ ended }) => ended))).toEqual([
      'fair_use_limit_reached',
      'fair_use_limit_reached',
    ]);
    const heard = clients.flatMap((client) => client.all('turn').map((turn) => turn.seconds));
    expect(heard).toHaveLength(2);
    expect(heard.reduce((sum, one) => sum + one, 0)).toBe(30);
    expect(await used()).toEqual([[30, 0]]);
  });

  it('ends, with exact books, if the database is away at a window, and another one works once it is back', async () => {
    const client = await speaking(0, 6);
    await proxy.refuse();
    client.speak(seconds(6));
    expect(await client.ended).toBe('overloaded');
    await proxy.restore();
    await expect.poll(async () => (await used()).map(([, reserved]) => reserved)).toEqual([0]);
    const [[before = 0] = []] = await used();
    expect(before).toBe(10 * client.all('turn').length);
    const next = await speaking(0, 2);
    expect(await next.finish()).toBeUndefined();
    expect(await used()).toEqual([[before + 2, 0]]);
  });
});
