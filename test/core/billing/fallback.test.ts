/** Models that answer in place of one that fails: what the client gets and pays, and what the record shows. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { LimitsSchema } from '../../../gen/parley/account/v1/limits_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { CreateKeyRequestSchema } from '../../../gen/parley/management/v1/management_pb.ts';
import { ConfigError, loadConfig } from '../../../src/config/config.ts';
import { cliCall } from '../../../src/core/access/call.ts';
import { completion, chunks as pieces, readEvents } from '../../support/chat-answers.ts';
import { bearer, errorOf, startParley } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, failure, json, resetAtOnce, silence } from '../../support/upstream-answers.ts';

const [one, two, three] = [
  await startScriptedUpstream(),
  await startScriptedUpstream(),
  await startScriptedUpstream(),
];
const limits = { contextTokens: 2_000, outputTokensMax: 100 };
const model = (id: string, engine: string, price: number, more = {}) => ({
  id,
  type: 'chat',
  engine,
  price: { input: price, output: 2 * price },
  ...limits,
  ...more,
});
const all = ['connect', 'timeout', 429, '5xx', 402, 'context'];
const folder = mkdtempSync(join(tmpdir(), 'parley-fallback-'));
const file = join(folder, 'parley.yaml');
const engineOf = (baseUrl: string) => ({
  kind: 'openai',
  baseUrl,
  retriesMax: 0,
  firstByteMs: 400,
  breakerFailures: 1_000,
});
writeFileSync(
  file,
  JSON.stringify({
    engines: {
      one: { ...engineOf(one.baseUrl), idleMs: 400 },
      two: engineOf(two.baseUrl),
      three: engineOf(three.baseUrl),
      nowhere: engineOf('http://127.0.0.1:9/v1'),
    },
    models: [
      model('plain', 'one', 1_000),
      model('m', 'one', 1_000, { fallback: ['other', 'third'], fallbackOn: all }),
      model('default', 'one', 1_000, { fallback: ['other'] }),
      model('at-first-price', 'one', 1_000, { fallback: ['other'], fallbackOn: all, fallbackPrice: 'first' }),
      model('unreachable', 'nowhere', 1_000, { fallback: ['other'] }),
      model('short', 'one', 1_000, {
        fallback: ['other'],
        fallbackOn: all,
        contextTokens: 20,
        outputTokensMax: 10,
      }),
      model('to-free', 'one', 1_000, { fallback: ['free'], fallbackOn: all }),
      model('to-dear', 'one', 1_000, { fallback: ['dear'], fallbackOn: all }),
      model('other', 'two', 2_000),
      model('third', 'three', 4_000),
      model('free', 'two', 0),
      model('dear', 'two', 1_000_000 / 4),
    ],
  }),
);
const parley = await startParley({ file });
rmSync(folder, { recursive: true });
afterAll(async () => {
  await parley.close();
  for (const upstream of [one, two, three]) await upstream.stop();
});

/** The cost of an answer, in nano-credits: 9 tokens of prompt and 4 of output. */
const costAt = (price: number) => BigInt(price) * 1_000n * (9n + 2n * 4n);

const path = '/chat/completions';
const question = { messages: [{ role: 'user', content: 'say hello' }] };
const ask = (id: string, more = {}, key = parley.apiKey) =>
  parley.postJson(path, { model: id, ...question, ...more }, bearer(key));
const asked = () => [one, two, three].map(({ requests }) => requests.length);
let before: readonly number[];
const tried = () => asked().map((count, at) => count - (before[at] ?? 0));

beforeEach(() => {
  before = asked();
  one.answer(path, failure(500));
  two.answer(path, json(completion('from two')));
  three.answer(path, json(completion('from three')));
});

/** The record, the debit and the balance of an answer, which must agree. */
async function paidFor(
  response: Response,
  wanted: { readonly model: string; readonly cost: bigint | undefined },
) {
  const record = await parley.recordOf(response);
  expect({ model: record.model, cost: record.cost }).toEqual(wanted);
  const { faults, entries, accounts } = await parley.books();
  expect(faults).toEqual([]);
  expect(accounts.every(({ held }) => held === 0n)).toBe(true);
  const debits = entries.filter(({ reference }) => reference === record.id);
  expect(debits.map(({ amount }) => amount)).toEqual(wanted.cost ? [-wanted.cost] : []);
  return record;
}

describe.each([false, true])('with stream: %s', (stream) => {
  beforeEach(() => {
    if (!stream) return;
    two.answer(path, events(pieces('from', ' two')));
    three.answer(path, events(pieces('from', ' three')));
  });

  const read = async (response: Response) => {
    if (!stream) return (await response.json()) as { model: string; text?: string };
    const { events: parts, isDone, text } = await readEvents(response);
    expect(isDone).toBe(true);
    return { model: parts[0].model, text };
  };

  it('gives the next model the room for thinking and the least of tokens that the client asked for', async () => {
    const more = { stream, max_tokens: 50, min_tokens: 30, thinking: { type: 'enabled', budget_tokens: 40 } };
    const response = await ask('short', more);
    expect(await read(response)).toMatchObject({ model: 'other' });
    const sent = [one, two].map(({ requests }) => JSON.parse(String(requests.at(-1)?.body)));
    expect(sent).toMatchObject([
      { max_tokens: 8, min_tokens: 8, thinking: { budget_tokens: 7 } },
      { max_tokens: 50, min_tokens: 30, thinking: { budget_tokens: 40 } },
    ]);
  });

  it.each([
    ['a status of 500', failure(500), 500],
    ['a status of 503', failure(503), 503],
    ['a status of 429', failure(429), 429],
    ['a status of 402', failure(402), 402],
    ['a connection that closes', resetAtOnce, undefined],
    ['an answer that takes too long', silence, undefined],
    [
      'a prompt that is too long',
      json({ error: { code: 'context_length_exceeded', message: 'too long' } }, { status: 400 }),
      400,
    ],
  ])('answers with the next model after %s, at its price', async (_, answer, upstreamStatus) => {
    one.answer(path, answer);
    const response = await ask('m', { stream });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-parley-model')).toBe('other');
    expect((await read(response)).model).toBe('other');
    const record = await paidFor(response, { model: 'other', cost: costAt(2_000) });
    expect(record).toMatchObject({ state: 'ok', engine: 'two' });
    const [first, second] = record.cause?.attempts ?? [];
    expect(first).toMatchObject({ engine: 'one', model: 'm', durationMs: expect.any(Number) });
    expect(first?.upstreamStatus).toBe(upstreamStatus);
    expect(second).toMatchObject({ engine: 'two', model: 'other' });
    expect(second?.code).toBeUndefined();
    expect(tried()).toEqual([1, 1, 0]);
  });

  it('are listed with the model, without those that a key may not call', async () => {
    const fallbackOf = async (key: string) => {
      const { data } = (await (await parley.call('/models?type=chat', bearer(key))).json()) as {
        data: { id: string; fallback?: string[] }[];
      };
      return data.find(({ id }) => id === 'm')?.fallback;
    };
    expect(await fallbackOf(parley.apiKey)).toEqual(['other', 'third']);
    const limited = await keyWith({ models: ['m', 'third'] });
    expect(await fallbackOf(limited)).toEqual(['third']);
    const one = (await (await parley.call('/models/m')).json()) as { fallback: string[] };
    expect(one.fallback).toEqual(['other', 'third']);
  });

  it('goes on to a third model, and lets the client pay for that one alone', async () => {
    two.answer(path, failure(429));
    const response = await ask('m', { stream });
    expect((await read(response)).model).toBe('third');
    const record = await paidFor(response, { model: 'third', cost: costAt(4_000) });
    expect(record.cause?.attempts?.map(({ engine }) => engine)).toEqual(['one', 'two', 'three']);
  });

  it('answers with the next model if nothing listens at the first', async () => {
    const response = await ask('unreachable', { stream });
    expect((await read(response)).model).toBe('other');
    await paidFor(response, { model: 'other', cost: costAt(2_000) });
  });

  it('lets the client pay the price of the first model if it is set so', async () => {
    const response = await ask('at-first-price', { stream });
    expect((await read(response)).model).toBe('other');
    await paidFor(response, { model: 'other', cost: costAt(1_000) });
  });

  it('answers as ever while the first model works, and names no other', async () => {
    one.answer(path, stream ? events(pieces('from', ' one')) : json(completion('from one')));
    const response = await ask('m', { stream });
    expect(response.headers.get('x-parley-model')).toBeNull();
    expect((await read(response)).model).toBe('m');
    await paidFor(response, { model: 'm', cost: costAt(1_000) });
    expect(tried()).toEqual([1, 0, 0]);
  });

  it.each([
    ['never by itself', 'plain', failure(429), 429],
    ['after a reason that is not listed', 'default', failure(500), 500],
    ['after a refusal of the request', 'm', failure(400), 400],
    ['after a key that is refused', 'm', failure(401), 401],
  ])('does not fall back %s', async (_, id, answer, status) => {
    one.answer(path, answer);
    const response = await ask(id, { stream });
    expect(response.status).toBe(status);
    await paidFor(response, { model: id, cost: undefined });
    expect(tried()).toEqual([1, 0, 0]);
  });

  it('reports the error of the first model if all fail, and charges nothing', async () => {
    one.answer(path, failure(429, { 'retry-after': '7' }));
    two.answer(path, failure(503));
    three.answer(path, failure(400));
    const response = await ask('m', { stream });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('7');
    expect(response.headers.get('x-parley-model')).toBeNull();
    const record = await paidFor(response, { model: 'm', cost: undefined });
    expect(record.cause?.attempts?.map(({ upstreamStatus }) => upstreamStatus)).toEqual([429, 503, 400]);
  });

  it('says not to repeat the request if one of the models ran', async () => {
    one.answer(path, failure(429));
    two.answer(path, silence);
    three.answer(path, failure(429));
    const response = await ask('m', { stream });
    expect(response.status).toBe(502);
    expect(response.headers.get('x-should-retry')).toBe('false');
    await paidFor(response, { model: 'm', cost: undefined });
  });

  it('passes over a model that the key may not call', async () => {
    const key = await keyWith({ models: ['m', 'third'] });
    const response = await ask('m', { stream }, key);
    expect((await read(response)).model).toBe('third');
    expect(tried()).toEqual([1, 0, 1]);
  });

  it('takes a prompt that is too long for the first model to the next one', async () => {
    const messages = [{ role: 'user', content: 'word '.repeat(300) }];
    one.answer(
      path,
      json({ error: { code: 'context_length_exceeded', message: 'too long' } }, { status: 400 }),
    );
    const response = await ask('short', { stream, messages });
    expect((await read(response)).model).toBe('other');
    const sent = two.requests.at(-1)?.json;
    expect(sent).toMatchObject({ model: 'other', max_tokens: 100 });
    await paidFor(response, { model: 'other', cost: costAt(2_000) });
  });

  it("keeps the client's limit", async () => {
    await read(await ask('m', { stream, max_completion_tokens: 7 }));
    expect(two.requests.at(-1)?.json).toMatchObject({ max_tokens: 7 });
  });

  it('ends in the error of the first model if the credits do not cover the next one', async () => {
    const key = await parley.newKey({ credits: '0.5' });
    const response = await ask('to-dear', { stream }, key);
    expect(response.status).toBe(500);
    await paidFor(response, { model: 'to-dear', cost: undefined });
    expect(tried()).toEqual([1, 0, 0]);
  });

  it('falls back to a free model however few credits are left', async () => {
    const key = await parley.newKey({ credits: '0.15' });
    const response = await ask('to-free', { stream }, key);
    expect((await read(response)).model).toBe('free');
    await paidFor(response, { model: 'free', cost: 0n });
  });

  it('answers within what the first model holds if a budget covers no more', async () => {
    const response = await ask('m', { stream }, await keyWith({ budgets: { day: '0.4' } }));
    expect((await read(response)).model).toBe('other');
    await paidFor(response, { model: 'other', cost: costAt(2_000) });
    // The first model holds 100 tokens of output at half the price. The budget would cover some 90 of the second one.
    const limit = two.requests.at(-1)?.json.max_tokens;
    expect(limit).toBeGreaterThan(0);
    expect(limit).toBeLessThanOrEqual(50);
  });

  it('ends in the error of the first model if the minute has too few tokens for the next one', async () => {
    const response = await ask('short', { stream }, await keyWith({ tokensPerMinute: 35 }));
    expect(response.status).toBe(500);
    await paidFor(response, { model: 'short', cost: undefined });
    expect(tried()).toEqual([1, 0, 0]);
  });

  it('never holds or spends more than the account has, however many requests fall back at once', async () => {
    const key = await parley.newKey({ credits: '2' });
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask('m', { stream }, key)));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(texts.length).toBe(12);
    const answered = answers.filter(({ status }) => status === 200).length;
    expect(answered).toBeGreaterThan(0);
    expect(answers.every(({ status }) => [200, 402, 500].includes(status))).toBe(true);
    const { faults, accounts, records } = await parley.books();
    expect(faults).toEqual([]);
    expect(accounts.every(({ held, balance }) => held === 0n && balance >= 0n)).toBe(true);
    expect(records.length).toBeGreaterThan(12);
  });
});

it.each(['reset', 'stall'] as const)(
  'does not fall back after output that ends with a %s',
  async (ending) => {
    one.answer(path, events(pieces('from', ' one').slice(0, 2), { done: false, ending }));
    const response = await ask('m', { stream: true });
    const { isDone, text } = await readEvents(response);
    expect({ isDone, text }).toEqual({ isDone: false, text: 'from' });
    await paidFor(response, { model: 'm', cost: undefined });
    expect(tried()).toEqual([1, 0, 0]);
  },
);

it('charges a client that leaves after some output of the second model its price', async () => {
  two.answer(path, events(pieces('from', ' two').slice(0, 3), { done: false, ending: 'stall' }));
  const left = new AbortController();
  const response = await fetch(parley.baseUrl + path, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', ...question, stream: true }),
    ...bearer(parley.apiKey),
    signal: left.signal,
  });
  await response.body?.getReader().read();
  left.abort();
  await expect
    .poll(async () => (await parley.recordOf(response)).state, { timeout: 60_000 })
    .toBe('cancelled');
  const { model: answering, cost, tokens } = await parley.recordOf(response);
  expect(answering).toBe('other');
  const { promptTokens = 0, completionTokens = 0 } = tokens ?? {};
  expect(cost).toBe(2_000_000n * BigInt(promptTokens + 2 * completionTokens));
  expect((await parley.books()).faults).toEqual([]);
});

it('tries no other model once the client has left', async () => {
  one.answer(path, silence);
  const left = new AbortController();
  const answer = fetch(parley.baseUrl + path, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', ...question }),
    ...bearer(parley.apiKey),
    signal: left.signal,
  });
  await expect.poll(() => tried()[0], { timeout: 60_000 }).toBe(1);
  left.abort();
  await expect(answer).rejects.toThrow();
  await one.requests.at(-1)?.aborted;
  expect(tried()).toEqual([1, 0, 0]);
});

describe('other APIs', () => {
  it.each([
    ['/responses', { input: 'say hello' }],
    ['/messages', { ...question, max_tokens: 50 }],
    ['/completions', { prompt: 'say hello' }],
  ])('%s names the model that answers, whole and in a stream', async (api, body) => {
    const whole = await parley.postJson(api, { model: 'm', ...body });
    expect(whole.headers.get('x-parley-model')).toBe('other');
    expect(await whole.json()).toMatchObject({ model: 'other' });
    await paidFor(whole, { model: 'other', cost: costAt(2_000) });
    two.answer(path, events(pieces('from', ' two')));
    const streamed = await parley.postJson(api, { model: 'm', ...body, stream: true });
    expect(streamed.headers.get('x-parley-model')).toBe('other');
    const text = await streamed.text();
    expect(text).toContain('"model":"other"');
    expect(text).not.toContain('"model":"m"');
    await paidFor(streamed, { model: 'other', cost: costAt(2_000) });
  });

  it('names it in the headers of gRPC and Connect, whole and in a stream', async () => {
    const messages = [{ role: 'user', content: { value: { case: 'text' as const, value: 'say hello' } } }];
    const baseUrl = new URL(parley.baseUrl).origin;
    for (const transport of [
      createGrpcTransport({ baseUrl }),
      createConnectTransport({ baseUrl, httpVersion: '1.1' }),
    ]) {
      const client = createClient(ChatService, transport);
      let named: string | null = null;
      const options = {
        headers: { authorization: `Bearer ${parley.apiKey}` },
        onHeader: (headers: Headers) => {
          named = headers.get('x-parley-model');
        },
      };
      two.answer(path, json(completion('from two')));
      const whole = await client.createChatCompletion({ params: { model: 'm', messages } }, options);
      expect([named, whole.completion?.model]).toEqual(['other', 'other']);
      two.answer(path, events(pieces('from', ' two')));
      named = null;
      const models = new Set<string | undefined>();
      for await (const part of client.streamChatCompletion({ params: { model: 'm', messages } }, options)) {
        models.add(part.chunk?.model);
      }
      expect([named, ...models]).toEqual(['other', 'other']);
    }
  });

  it('tells it in an error of the first model, if none answers', async () => {
    for (const upstream of [one, two, three]) upstream.answer(path, failure(429));
    const response = await parley.postJson('/responses', { model: 'm', input: 'say hello' });
    expect(await errorOf(response)).toMatchObject({ status: 429, code: 'upstream_error' });
  });
});

describe('the settings', () => {
  const findings = (models: readonly object[]) => {
    const file = join(mkdtempSync(join(tmpdir(), 'parley-fallback-settings-')), 'parley.yaml');
    const speech = { id: 'voice', type: 'speech', engine: 'builtin' };
    writeFileSync(file, JSON.stringify({ models: [...models, speech] }));
    try {
      loadConfig({ env: {}, file });
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.findings.map(({ message }) => message);
      throw error;
    } finally {
      rmSync(dirname(file), { recursive: true });
    }
  };
  const chat = (id: string, more: object = {}) => model(id, 'builtin', 1, more);

  it('of models that name others are taken', () =>
    expect(
      findings([chat('a', { fallback: ['b', 'c'] }), chat('b', { fallback: ['c'] }), chat('c')]),
    ).toEqual([]));

  it.each([
    [['d'], 'There is no chat model `d`. There are: a, b.'],
    [['voice'], 'There is no chat model `voice`. There are: a, b.'],
    [['a'], 'The model `a` falls back to itself. Name another one.'],
    [['b', 'b'], '`b` is in the list of the model `a` already. Keep it once.'],
    [[], '`models[0].fallback` is a list, but must be a list of at least one chat model.'],
  ])('refuse %o', (fallback, message) =>
    expect(findings([chat('a', { fallback }), chat('b')])).toEqual([message]),
  );

  it('refuse models that fall back to each other', () => {
    const [first, ...others] = findings([
      chat('a', { fallback: ['b'] }),
      chat('b', { fallback: ['c'] }),
      chat('c', { fallback: ['a'] }),
    ]);
    expect(first).toBe('These models fall back to each other: `a` to `b` to `c` to `a`. Remove one of them.');
    expect(others.length).toBe(2);
  });

  it.each([
    [{ fallbackOn: [429] }, '`fallbackOn` needs `fallback`, which the model `a` does not have.'],
    [{ fallbackPrice: 'first' }, '`fallbackPrice` needs `fallback`, which the model `a` does not have.'],
    [
      { fallback: ['b'], fallbackOn: [500] },
      '`models[0].fallbackOn[0]` is 500, but must be one of connect, timeout, 429, 5xx, 402, context.',
    ],
  ])('refuse %o', (more, message) => expect(findings([chat('a', more), chat('b')])).toEqual([message]));
});

it('works as the page on upstreams shows it', async () => {
  const page = readFileSync(new URL('../../../docs/upstreams.md', import.meta.url), 'utf8');
  const example = /```yaml fallback\n(.*?)```/s.exec(page)?.[1] ?? '';
  const shown = mkdtempSync(join(tmpdir(), 'parley-fallback-page-'));
  writeFileSync(join(shown, 'hosted.key'), 'sk-hosted');
  writeFileSync(
    join(shown, 'parley.yaml'),
    example
      .replace('https://api.example.com/v1', one.baseUrl)
      .replace('http://127.0.0.1:8000/v1', two.baseUrl)
      .replace('hosted.key', join(shown, 'hosted.key')),
  );
  const server = await startParley({ file: join(shown, 'parley.yaml') });
  try {
    const response = await server.postJson(path, { model: 'large', ...question });
    expect(await response.json()).toMatchObject({ model: 'qwen3-8b' });
    // 9 tokens at 0.05 and 4 at 0.2 credits per million.
    expect((await server.recordOf(response)).cost).toBe(1_250n);
  } finally {
    await server.close();
    rmSync(shown, { recursive: true });
  }
});

/** A key of the account with limits. */
async function keyWith(wanted: MessageInitShape<typeof LimitsSchema>): Promise<string> {
  const { accounts } = parley.app.services;
  const request = { accountId: parley.accountId, name: 'limited', limits: wanted };
  const { secret } = await accounts.createKey(create(CreateKeyRequestSchema, request), cliCall);
  return secret;
}
