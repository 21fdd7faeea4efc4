/** Two servers on one database: after one has answered a change, it applies at once to requests on the other. */
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import * as keyPb from '../../../gen/parley/management/v1/management_pb.ts';
import { type App, createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { bearer, errorOf } from '../../support/parley.ts';
import { newStoreFolder, type StoreFolder } from '../../support/store-folder.ts';

let folder: StoreFolder;
let here: App;
let there: App;
let key: { id: string; secret: string };

beforeEach(async () => {
  folder = await newStoreFolder();
  const open = () => {
    const overrides = { ...folder.settings, server: { port: 0 }, log: { level: 'silent' } };
    return createApp(loadConfig({ env: {}, overrides }));
  };
  [here, there] = await Promise.all([open(), open()]);
  const { accounts } = here.services;
  const accountId = 'ada';
  await accounts.createAccount(create(pb.CreateAccountRequestSchema, { name: accountId }), cliCall);
  await accounts.startTrial(create(pb.StartTrialRequestSchema, { accountId }), cliCall);
  const load = { accountId, amount: '1', reason: 'test', idempotencyKey: 'test' };
  await accounts.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
  const made = await accounts.createKey(
    create(keyPb.CreateKeyRequestSchema, { accountId, name: 'k' }),
    cliCall,
  );
  key = { id: made.key?.id ?? '', secret: made.secret };
});
afterEach(async () => {
  await Promise.all([here.close(), there.close()]);
  await folder.remove();
});

const post = (path: string, body: object) =>
  fetch(there.baseUrl + path, { ...bearer(key.secret), method: 'POST', body: JSON.stringify(body) });
const chat = () =>
  post('/chat/completions', { model: 'eliza', messages: [{ role: 'user', content: 'Hello.' }] });
const speak = () => post('/audio/speech', { model: 'flite', input: 'Hello.', response_format: 'wav' });
const answered = async (response: Response) => {
  await response.arrayBuffer();
  return response.status;
};

describe('a change on one server', () => {
  it('revokes a key on the other', async () => {
    expect(await answered(await chat())).toBe(200);
    await here.services.accounts.revokeKey(create(keyPb.RevokeKeyRequestSchema, { keyId: key.id }), cliCall);
    expect(await errorOf(await chat())).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });

  it('ends a trial on the other', async () => {
    expect(await answered(await speak())).toBe(200);
    await here.services.accounts.endPlan(create(pb.EndPlanRequestSchema, { accountId: 'ada' }), cliCall);
    expect(await errorOf(await speak())).toMatchObject({ status: 402, code: 'subscription_required' });
    expect(await answered(await chat())).toBe(200);
  });

  it('is found by the next hold, though no notification has come', async () => {
    expect(await answered(await chat())).toBe(200);
    await folder.execute(`set session_replication_role = replica;
      update api_keys set revoked_at_ms = 1;
      update accounts set policy_version = policy_version + 1`);
    expect(await errorOf(await chat())).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });
});
