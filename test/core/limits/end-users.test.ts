/** End users and tags that clients name: on every wire, in records and totals, and the budget of each end user. */
import { randomUUID } from 'node:crypto';
import { create, fromJson } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ListUsageRecordsRequestSchema } from '../../../gen/parley/account/v1/account_pb.ts';
import * as pb from '../../../gen/parley/admin/v1/admin_pb.ts';
import { ChatCompletionParamsSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { countStatuses, type LimitedParley, startLimited } from '../../support/limited-parley.ts';
import { bearer, errorOf } from '../../support/parley.ts';

let parley: LimitedParley;
beforeAll(async () => {
  parley = await startLimited();
  const load = { accountId: parley.accountId, amount: '100000', reason: 'test', idempotencyKey: 'l' };
  await parley.app.services.accounts.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
});
afterAll(() => parley.close());

type Json = Record<string, unknown>;
const messages = [{ role: 'user', content: 'a' }];
/** The parts of Claude Code's `metadata.user_id`. */
const [device, account, session] = ['0a'.repeat(32), randomUUID(), randomUUID()];
/** The value of a header whose bytes are the text in UTF-8, as `fetch` sends Latin-1. */
const sentAsUtf8 = (text: string) => Buffer.from(text).toString('latin1');
const post = (path: string, body: Json, headers: Json = {}, secret = parley.apiKey) =>
  parley.postJson(
    path,
    { model: 'm', max_tokens: 1, ...body },
    { headers: { ...bearer(secret).headers, ...headers } as Record<string, string> },
  );
const labelsOf = async (response: Response) => {
  expect(response.status, await response.clone().text()).toBe(200);
  const { endUser, tags } = await parley.recordOf(response);
  return [endUser, tags];
};

describe('a record names', () => {
  it.each<[string, string, Json, Json, (string | undefined)[]]>([
    [
      'the header',
      '/chat/completions',
      { messages, user: 'u' },
      { 'x-parley-end-user': 'ann' },
      ['ann', undefined],
    ],
    [
      'headers in UTF-8',
      '/chat/completions',
      { messages },
      { 'x-parley-end-user': sentAsUtf8('José 💶'), 'x-parley-tags': sentAsUtf8('ß,é') },
      ['José 💶', 'ß,é'],
    ],
    [
      'headers in Latin-1',
      '/chat/completions',
      { messages },
      { 'x-parley-end-user': 'José', 'x-parley-tags': 'é' },
      ['José', 'é'],
    ],
    [
      'safety_identifier',
      '/chat/completions',
      { messages, user: 'u', safety_identifier: 's' },
      {},
      ['s', undefined],
    ],
    ['user', '/chat/completions', { messages, user: 'u' }, {}, ['u', undefined]],
    ['user of a completion', '/completions', { prompt: 'a', user: 'u' }, {}, ['u', undefined]],
    [
      'user of a response',
      '/responses',
      { input: 'a', user: 'u', metadata: { tags: 'b,a' } },
      {},
      ['u', 'a,b'],
    ],
    [
      'metadata of a message',
      '/messages',
      { messages, metadata: { user_id: 'u', tags: ['b'] } },
      {},
      ['u', 'b'],
    ],
    ...[
      ['as a text', `user_${device}_account_${account}_session_${session}`],
      [
        'as JSON',
        JSON.stringify({ device_id: device, account_uuid: account, session_id: session, cd: 'more' }),
      ],
    ].map(([form, id]): [string, string, Json, Json, string[]] => [
      `Claude Code without its session, which it names ${form}`,
      '/messages',
      { messages, metadata: { user_id: id, tags: ['b'] } },
      {},
      [`user_${device}_account_${account}`, 'b'],
    ]),
    ...['{"device_id":"d"}', '{"a":', '{}', 'my_session_1'].map(
      (id): [string, string, Json, Json, (string | undefined)[]] => [
        `${id}, which names no session of Claude Code`,
        '/messages',
        { messages, metadata: { user_id: id } },
        {},
        [id, undefined],
      ],
    ),
    [
      'tags of metadata',
      '/chat/completions',
      { messages, metadata: { tags: 'x, y' } },
      {},
      [undefined, 'x,y'],
    ],
    [
      'a list of tags',
      '/chat/completions',
      { messages, metadata: { tags: ['y', 'x'] } },
      {},
      [undefined, 'x,y'],
    ],
    [
      'at most three tags',
      '/chat/completions',
      { messages },
      { 'x-parley-tags': 'd,c,a,b,a' },
      [undefined, 'a,c,d'],
    ],
    [
      'nothing of blank names',
      '/chat/completions',
      { messages, user: ' ' },
      { 'x-parley-tags': ' , ' },
      [undefined, undefined],
    ],
    [
      'the beginning of long names',
      '/chat/completions',
      { messages, user: '💶'.repeat(500) },
      {},
      ['💶'.repeat(128), undefined],
    ],
    [
      'names without control characters',
      '/chat/completions',
      { messages, user: 'a\u0000b\n' },
      {},
      ['a b', undefined],
    ],
  ])('%s', async (_, path, body, headers, expected) => {
    expect(await labelsOf(await post(path, body, headers))).toEqual(expected);
  });

  it('the header of speech', async () => {
    const headers = { ...bearer(parley.apiKey).headers, 'x-parley-end-user': 'ann', 'x-parley-tags': 'a' };
    const body = JSON.stringify({ model: 'voice', input: 'a', response_format: 'pcm' });
    const response = await parley.call('/audio/speech', { method: 'POST', body, headers });
    expect(await labelsOf(response)).toEqual(['ann', 'a']);
  });

  it.each([
    ['gRPC', createGrpcTransport],
    ['Connect', (options: { baseUrl: string }) => createConnectTransport({ ...options, httpVersion: '1.1' })],
    [
      'gRPC-Web',
      (options: { baseUrl: string }) => createGrpcWebTransport({ ...options, httpVersion: '1.1' }),
    ],
  ] as const)('the metadata of %s', async (_, transportTo) => {
    const client = createClient(ChatService, transportTo({ baseUrl: new URL(parley.baseUrl).origin }));
    let id = '';
    const headers = {
      authorization: `Bearer ${parley.apiKey}`,
      'x-parley-end-user': 'ann',
      'x-parley-tags': 'a',
    };
    const params = fromJson(ChatCompletionParamsSchema, {
      model: 'm',
      max_tokens: 1,
      messages: [{ role: 'user', content: { text: 'a' } }],
    });
    await client.createChatCompletion(
      { params },
      {
        headers,
        onHeader: (sent) => {
          id = sent.get('x-request-id') ?? '';
        },
      },
    );
    const { records } = await parley.app.services.accounts.listUsageRecords(
      create(ListUsageRecordsRequestSchema, { id }),
      cliCall,
    );
    expect(records).toMatchObject([{ endUser: 'ann', tags: ['a'] }]);
  });
});

describe('over REST', () => {
  const range = () => {
    const from = new Date(Math.floor(parley.clock.now() / 86_400_000) * 86_400_000);
    return `start_time=${from.toISOString()}&end_time=${new Date(from.getTime() + 86_400_000).toISOString()}`;
  };
  const read = async (path: string) =>
    (await parley.call(path, bearer(parley.apiKey))).json() as Promise<Json>;

  it('records are listed by end user and tag, and totals grouped by both', async () => {
    for (const [user, tags] of [
      ['eve', 'p'],
      ['eve', 'p,q'],
      ['dan', 'q'],
    ] as const) {
      await post('/chat/completions', { messages, user }, { 'x-parley-tags': tags });
      parley.clock.nowMs++;
    }
    const users = async (filter: string) =>
      ((await read(`/usage?${filter}`))['records'] as Json[]).map((record) => [
        record['end_user'],
        record['tags'],
      ]);
    expect(await users('end_user=eve')).toEqual([
      ['eve', ['p', 'q']],
      ['eve', ['p']],
    ]);
    expect(await users('tag=q')).toEqual([
      ['dan', ['q']],
      ['eve', ['p', 'q']],
    ]);
    expect(await users('tag=Q')).toEqual([]);
    const totals = async (query: string) =>
      ((await read(`/usage/totals?${range()}&${query}`))['totals'] as Json[]).map(
        ({ end_user: user, tags, requests, cost, rest }) => ({ user, tags, requests, cost, rest }),
      );
    expect(await totals('group_by=end_user')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ user: 'eve', requests: 2, cost: '2' }),
        expect.objectContaining({ user: 'dan', requests: 1, cost: '1' }),
      ]),
    );
    expect(await totals('group_by=tags')).toContainEqual(
      expect.objectContaining({ tags: ['p', 'q'], requests: 1 }),
    );
    const top = await totals('group_by=end_user&top=1&top_by=requests');
    expect(top).toHaveLength(2);
    expect(top).toContainEqual(expect.objectContaining({ rest: true }));
    expect(
      await errorOf(await parley.call('/usage/totals?group_by=end_user', bearer(parley.apiKey))),
    ).toMatchObject({ code: 'invalid_parameter', param: 'group_by' });
  });
});

describe('limits.per_end_user', () => {
  const chatOf = (secret: string, user: string | undefined) =>
    post('/chat/completions', { messages, ...(user !== undefined && { user }) }, {}, secret);

  it.each(['day', 'month'] as const)(
    'for 3 chats (%s) lets exactly 3 of 20 at once pass for each end user',
    async (period) => {
      const { secret } = await parley.keyWith({ perEndUser: { [period]: '3' } });
      const users = ['ann', 'bob', 'x'.repeat(200) + 1, 'x'.repeat(200) + 2, undefined];
      const answers = await Promise.all(
        users.map((user) => Promise.all(Array.from({ length: 20 }, () => chatOf(secret, user)))),
      );
      for (const own of answers) expect(countStatuses(own)).toEqual({ 200: 3, 402: 17 });
      const refused = await chatOf(secret, 'ann');
      expect(await errorOf(refused.clone())).toMatchObject({
        code: 'budget_exceeded',
        message: expect.stringMatching(
          /^This end user has a budget of 3 credits per (day|month); 0 are left/,
        ),
      });
      const record = await parley.recordOf(refused);
      expect(record).toMatchObject({
        state: 'refused',
        endUser: 'ann',
        cause: { limit: { owner: 'end_user', unit: 'credits', limit: 3n * 10n ** 9n } },
      });
      // Another key has end users of its own.
      const other = await parley.keyWith({ perEndUser: { [period]: '1' } });
      expect((await chatOf(other.secret, 'ann')).status).toBe(200);
    },
  );

  it('is the same for a name in the body and in a header', async () => {
    const { secret } = await parley.keyWith({ perEndUser: { day: '1' } });
    expect((await chatOf(secret, 'José')).status).toBe(200);
    const headers = { 'x-parley-end-user': sentAsUtf8('José') };
    expect((await post('/chat/completions', { messages }, headers, secret)).status).toBe(402);
  });

  it('covers all sessions of Claude Code', async () => {
    const { secret } = await parley.keyWith({ perEndUser: { day: '3' } });
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => {
        const sessionId = randomUUID();
        const id =
          index % 2 === 0
            ? `user_${device}_account__session_${sessionId}`
            : JSON.stringify({ device_id: device, account_uuid: '', session_id: sessionId });
        return post('/messages', { messages, metadata: { user_id: id } }, {}, secret);
      }),
    );
    expect(countStatuses(answers)).toEqual({ 200: 3, 402: 3 });
  });

  it('gives back what failed, begins again the next day, and shortens an answer to what is left', async () => {
    const { secret } = await parley.keyWith({ perEndUser: { day: '5' }, budgets: { total: '100' } });
    const ask = (limit: number) =>
      post('/chat/completions', { messages, user: 'ann', max_tokens: limit }, {}, secret);
    parley.engine.fails = true;
    expect((await ask(5)).status).toBe(500);
    parley.engine.fails = false;
    expect((await ask(3)).status).toBe(200);
    expect((await ask(9)).status).toBe(200);
    expect(parley.engine.outputLimits.at(-1)).toBe(2);
    expect((await ask(1)).status).toBe(402);
    parley.clock.nowMs += 86_400_000;
    expect((await ask(5)).status).toBe(200);
  });

  it('of an account holds over all its keys', async () => {
    await parley.setAccountLimits({ perEndUser: { month: '4' } });
    const keys = await Promise.all([parley.keyWith({}), parley.keyWith({})]);
    const answers = await Promise.all(
      keys.flatMap(({ secret }) => Array.from({ length: 10 }, () => chatOf(secret, 'zoe'))),
    );
    expect(countStatuses(answers)).toEqual({ 200: 4, 402: 16 });
    await parley.setAccountLimits({});
  });

  it('is set, shown and refused over REST', async () => {
    const key = await parley.keyWith({});
    const path = `/accounts/${parley.accountId}/keys`;
    const created = await parley.admin(path, {
      name: 'k',
      limits: { per_end_user: { day: '1.5', month: '20' } },
    });
    expect(await created.json()).toMatchObject({
      key: { limits: { per_end_user: { day: '1.5', month: '20' } } },
    });
    const refused = await parley.admin(path, { name: 'k', limits: { per_end_user: { day: '-1' } } });
    expect(await errorOf(refused)).toMatchObject({
      code: 'invalid_parameter',
      param: 'limits.per_end_user.day',
    });
    const total = await parley.admin(path, { name: 'k', limits: { per_end_user: { total: '1' } } });
    expect(total.status).toBe(400);
    expect(key.id).toMatch(/^key_/);
  });
});

describe('limits.endUsersMax', () => {
  let bounded: LimitedParley;
  beforeAll(async () => {
    bounded = await startLimited({ settings: { limits: { endUsersMax: 3 } } });
    const load = { accountId: bounded.accountId, amount: '1000', reason: 'test', idempotencyKey: 'l' };
    await bounded.app.services.accounts.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
  });
  afterAll(() => bounded.close());
  const chatOf = (secret: string, user: string | undefined) =>
    bounded.postJson(
      '/chat/completions',
      { model: 'm', messages, max_tokens: 1, ...(user !== undefined && { user }) },
      bearer(secret),
    );

  it.each([
    ['a day', { day: '100' }],
    ['a month', { month: '100' }],
    ['both', { day: '100', month: '100' }],
  ])('of 3 lets exactly 3 of 20 names pass at once, with a budget of %s', async (_, perEndUser) => {
    const { secret } = await bounded.keyWith({ perEndUser });
    const names = Array.from({ length: 20 }, (_, at) => `user ${at}`);
    const answers = await Promise.all(names.flatMap((name) => [chatOf(secret, name), chatOf(secret, name)]));
    expect(countStatuses(answers)).toEqual({ 200: 6, 429: 34 });
    const known = names.filter((_, at) => answers[2 * at]?.status === 200);
    expect(known).toHaveLength(3);
    for (const name of [...known, undefined]) expect((await chatOf(secret, name)).status).toBe(200);
    const refused = await chatOf(secret, 'one more');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(60);
    expect(await errorOf(refused.clone())).toMatchObject({
      code: 'rate_limit_exceeded',
      message: expect.stringMatching(/^This API key has had its 3 end users of this (day|month)\./),
    });
    expect(await bounded.recordOf(refused)).toMatchObject({
      state: 'refused',
      cause: { limit: { owner: 'key', unit: 'end_users', limit: 3n, taken: 3n } },
    });
    // Another key has names of its own, and without budgets of end users names are not counted.
    const other = await bounded.keyWith({ perEndUser });
    expect((await chatOf(other.secret, 'one more')).status).toBe(200);
    const free = await bounded.keyWith({});
    expect(countStatuses(await Promise.all(names.map((name) => chatOf(free.secret, name))))).toEqual({
      200: 20,
    });
  });

  it('counts a name once, also if its chats fail, and begins again with the period', async () => {
    const { secret } = await bounded.keyWith({ perEndUser: { day: '100' } });
    bounded.engine.fails = true;
    for (const user of ['a', 'a', 'a', 'b', 'b', 'c']) expect((await chatOf(secret, user)).status).toBe(500);
    bounded.engine.fails = false;
    expect((await chatOf(secret, 'd')).status).toBe(429);
    expect((await chatOf(secret, 'a')).status).toBe(200);
    bounded.clock.nowMs += 86_400_000;
    expect((await chatOf(secret, 'd')).status).toBe(200);
  });
});

it('records keep no names if the operator wants none, and budgets still work', async () => {
  const silent = await startLimited({ settings: { retention: { endUsers: false } } });
  const load = { accountId: silent.accountId, amount: '100', reason: 'test', idempotencyKey: 'l' };
  await silent.app.services.accounts.loadCredits(create(pb.LoadCreditsRequestSchema, load), cliCall);
  const { secret } = await silent.keyWith({ perEndUser: { day: '1' } });
  const ask = () =>
    silent.postJson(
      '/chat/completions',
      { model: 'm', messages, max_tokens: 1, user: 'ann', metadata: { tags: 'a' } },
      bearer(secret),
    );
  const response = await ask();
  expect(await silent.recordOf(response)).toMatchObject({ state: 'ok', endUser: undefined, tags: undefined });
  expect((await ask()).status).toBe(402);
  await silent.close();
});
