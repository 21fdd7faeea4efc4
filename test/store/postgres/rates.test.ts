/** Three servers on one database: the limits per minute, and of requests at once, apply to all together. */
import { create } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { ChatCompletionSchema, UsageSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import * as keyPb from '../../../gen/parley/management/v1/management_pb.ts';
import { type App, createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import type { RequestStore } from '../../../src/core/entities/reservation.ts';
import { fakeChat, withFakes } from '../../support/fake-engines.ts';
import { countStatuses, type WantedLimits } from '../../support/limited-parley.ts';
import { bearer, errorOf } from '../../support/parley.ts';
import { newStoreFolder, type StoreFolder } from '../../support/store-folder.ts';

const accountId = 'ada';
const soon = { timeout: 60_000 };

let folder: StoreFolder;
let servers: App[];
/** Holds chats until it resolves. */
let goesOn: Promise<unknown>;
let running: number;
/** Tokens of an answer; undefined: as many as the client allows. */
let completionTokens: number | undefined;

const engines = withFakes({
  chat: fakeChat({
    complete: async ({ maxTokens, maxCompletionTokens }) => {
      const limit = maxTokens ?? maxCompletionTokens ?? 1;
      running++;
      await goesOn;
      running--;
      const tokens = completionTokens ?? limit;
      const message = { role: 'assistant', content: { value: { case: 'text', value: 'a' } as const } };
      return create(ChatCompletionSchema, {
        choices: [{ message, finishReason: 'stop' }],
        usage: create(UsageSchema, { promptTokens: 1, completionTokens: tokens, totalTokens: 1 + tokens }),
      });
    },
  }),
});

beforeEach(async () => {
  goesOn = Promise.resolve();
  running = 0;
  completionTokens = undefined;
  folder = await newStoreFolder();
  await setClock('12:00:30');
  const price = { input: 0, output: 0 };
  const models = [{ id: 'm', type: 'chat', engine: 'builtin', price, contextTokens: 4000 } as const];
  const open = () => {
    const overrides = { ...folder.settings, server: { port: 0 }, log: { level: 'silent' }, models };
    return createApp(loadConfig({ env: {}, overrides }), { engines });
  };
  servers = await Promise.all([open(), open(), open()]);
  await accounts().createAccount(create(pb.CreateAccountRequestSchema, { name: accountId }), cliCall);
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.close()));
  await folder.remove();
});

/** Gives transactions another time, as the database decides about the minute. */
async function setClock(time: string): Promise<void> {
  await folder.execute(`
    create schema if not exists fake;
    create or replace function fake.now() returns timestamptz language sql as $$ select '2026-11-22 ${time}Z'::timestamptz $$;
    do $$ begin execute format('alter database %I set search_path = fake, pg_catalog, public', current_database()); end $$`);
}

const accounts = () => {
  const [first] = servers;
  if (first === undefined) throw new Error('no server runs');
  return first.services.accounts;
};

async function keyWith(limits: WantedLimits) {
  const request = create(keyPb.CreateKeyRequestSchema, { accountId, name: 'limited', limits });
  const { secret } = await accounts().createKey(request, cliCall);
  const messages = [{ role: 'user', content: 'a' }];
  /** Calls the servers in turn. */
  return (n: number, maxTokens = 1) =>
    fetch(`${servers[n % servers.length]?.baseUrl}/chat/completions`, {
      ...bearer(secret),
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages, max_tokens: maxTokens }),
    });
}

const atOnce = (count: number, ask: (n: number) => Promise<Response>) =>
  Promise.all(Array.from({ length: count }, (_, n) => ask(n)));

const rates = () => folder.execute('select minute, requests, tokens, running from rates');
const noneRuns = () => expect.poll(rates, soon).toMatchObject([{ running: 0n }]);

describe('three servers', () => {
  it('admit exactly the requests per minute', async () => {
    const ask = await keyWith({ requestsPerMinute: 10 });
    expect(countStatuses(await atOnce(60, (n) => ask(n)))).toEqual({ 200: 10, 429: 50 });
    const refused = await ask(1);
    expect(await errorOf(refused)).toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringContaining('This API key may send 10 requests per minute.'),
    });
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
  });

  it('start a minute together, by the clock of the database', async () => {
    const ask = await keyWith({ requestsPerMinute: 6 });
    expect(countStatuses(await atOnce(6, (n) => ask(n)))).toEqual({ 200: 6 });
    const [{ minute: before } = {}] = await rates();
    await setClock('12:01:00');
    expect(countStatuses(await atOnce(2, (n) => ask(n)))).toEqual({ 200: 2 });
    expect(await rates()).toMatchObject([{ minute: (before as bigint) + 1n, requests: 2n, running: 0n }]);
    // A database that replaces another one may have an earlier time.
    await setClock('11:00:00');
    expect((await ask(2)).status).toBe(200);
    expect(await rates()).toMatchObject([{ minute: (before as bigint) + 1n, requests: 3n }]);
  });

  it('run exactly as many requests at once as allowed', async () => {
    const ask = await keyWith({ concurrentRequests: 4 });
    const held = Promise.withResolvers<void>();
    goesOn = held.promise;
    const answers = Array.from({ length: 12 }, (_, n) => ask(n));
    let refusals = 0;
    for (const answer of answers) void answer.then(({ status }) => (refusals += status === 429 ? 1 : 0));
    await expect.poll(() => refusals, soon).toBe(8);
    expect(await rates()).toMatchObject([{ running: 4n }]);
    held.resolve();
    expect(countStatuses(await Promise.all(answers))).toEqual({ 200: 4, 429: 8 });
    await noneRuns();
    expect((await ask(0)).status).toBe(200);
  });

  it('share the tokens per minute, and return the unused ones', async () => {
    const ask = await keyWith({ tokensPerMinute: 1200 });
    const statuses = countStatuses(await atOnce(9, (n) => ask(n, 300)));
    expect(statuses).toEqual({ 200: 3, 429: 6 });
    const [{ tokens } = {}] = await rates();
    expect(tokens).toBe(903n);
    const { message } = await errorOf(await ask(2, 300));
    expect(message).toContain('may use 1200 tokens per minute; 297 are left');
  });

  it('refuse a chat that loses every race for the last tokens of a minute until the next one', async () => {
    const ask = await keyWith({ tokensPerMinute: 3000 });
    completionTokens = 1;
    expect((await ask(1)).status).toBe(200);
    const requests = servers[0]?.store.requests as RequestStore;
    const reserve = requests.reserve.bind(requests);
    // Before each attempt another server uses a part of the amount that the first one believes to be left.
    const reserving = vi.spyOn(requests, 'reserve').mockImplementation(async (...attempt) => {
      await folder.execute('update rates set tokens = tokens + 400');
      return reserve(...attempt);
    });
    const refused = await ask(0, 3500);
    expect(reserving.mock.calls.length).toBeGreaterThan(3);
    expect(await errorOf(refused)).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused.headers.has('x-should-retry')).toBe(false);
  });

  it('plan with the currently free tokens, not with an earlier number', async () => {
    const ask = await keyWith({ tokensPerMinute: 3000 });
    const held = Promise.withResolvers<void>();
    goesOn = held.promise;
    // One server holds the whole minute, and another is notified.
    const first = ask(0, 2800);
    await expect.poll(() => running, soon).toBe(1);
    expect((await ask(1, 2800)).status).toBe(429);
    completionTokens = 10;
    held.resolve();
    goesOn = Promise.resolve();
    expect((await first).status).toBe(200);
    // More than a whole minute, so that the answer is limited to the rest of the minute.
    expect((await ask(1, 3500)).status).toBe(200);
  });

  it('release the requests of a lost one', async () => {
    const ask = await keyWith({ concurrentRequests: 2, tokensPerMinute: 1000 });
    const held = Promise.withResolvers<void>();
    goesOn = held.promise;
    const answers = [ask(2, 300), ask(2, 300)];
    await expect.poll(() => running, soon).toBe(2);
    expect((await ask(0)).status).toBe(429);
    await folder.execute(
      "delete from nodes where epoch in (select node_epoch from usage_records where state = 'started')",
    );
    await noneRuns();
    expect(await rates()).toMatchObject([{ tokens: 0n, requests: 2n }]);
    goesOn = Promise.resolve();
    expect((await ask(0)).status).toBe(200);
    held.resolve();
    expect(countStatuses(await Promise.all(answers))).toEqual({ 503: 2 });
  });
});
