/** The price of the parts of a prompt that an upstream reads from its cache, or writes to it. */
import { afterAll, describe, expect, it } from 'vitest';
import { type Usage, UsageSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { jsonCodec } from '../../../src/codec/codec.ts';
import { readReport } from '../../../src/core/billing/token-report.ts';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { chunk, completion } from '../../support/chat-answers.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

type Json = Record<string, unknown>;

const counts = { prompt_tokens: 1_000, completion_tokens: 10, total_tokens: 1_010 };
/** Members of `usage` beside the counts, as servers send them. */
const told: Readonly<Record<string, { readonly usage: Json; readonly cache: readonly [number?, number?] }>> =
  {
    OpenAI: {
      usage: { prompt_tokens_details: { cached_tokens: 600, audio_tokens: 0, cache_write_tokens: 200 } },
      cache: [600, 200],
    },
    'Azure, Groq, vLLM, SGLang and llama.cpp': {
      usage: { prompt_tokens_details: { cached_tokens: 600 } },
      cache: [600],
    },
    xAI: {
      usage: {
        prompt_tokens_details: { text_tokens: 1_000, audio_tokens: 0, image_tokens: 0, cached_tokens: 600 },
      },
      cache: [600],
    },
    OpenRouter: {
      usage: { prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 0 }, cost: 0.0012 },
      cache: [600, 0],
    },
    DeepSeek: { usage: { prompt_cache_hit_tokens: 600, prompt_cache_miss_tokens: 400 }, cache: [600] },
    'Moonshot and Together': { usage: { cached_tokens: 600 }, cache: [600] },
    'LiteLLM before Anthropic': {
      usage: {
        cache_read_input_tokens: 600,
        cache_creation_input_tokens: 200,
        prompt_tokens_details: { cached_tokens: 600, cache_creation_tokens: 200, audio_tokens: null },
      },
      cache: [600, 200],
    },
    'a gateway with the names of Anthropic': {
      usage: { cache_read_input_tokens: 600, cache_creation_input_tokens: 200 },
      cache: [600, 200],
    },
    'a cold cache': { usage: { prompt_tokens_details: { cached_tokens: 0 } }, cache: [0] },
    'Ollama, which has none': { usage: {}, cache: [] },
    'details of null': { usage: { prompt_tokens_details: null }, cache: [] },
  };
/** Details that cannot be true. */
const impossible: Readonly<Record<string, Json>> = {
  'more cached tokens than the prompt has': { prompt_tokens_details: { cached_tokens: 1_001 } },
  'more tokens in both parts than the prompt has': {
    prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 401 },
  },
  'a negative count': { prompt_cache_hit_tokens: -600 },
  'a fraction': { prompt_tokens_details: { cached_tokens: 0.5 } },
  'a text': { cached_tokens: '600' },
  'the counts of a prompt without its cached part': { cache_read_input_tokens: 5_000 },
};

const codec = jsonCodec(UsageSchema);
const usageOf = (members: Json): Usage =>
  codec.decodeLeniently(structuredClone({ ...counts, ...members }) as never);

describe('a report', () => {
  it.each(Object.entries(told))('of %s tells of its cache', (_, { usage, cache }) => {
    const { cachedTokens, cacheWriteTokens, promptTokens } = readReport(usageOf(usage), true) ?? {};
    expect([cachedTokens, cacheWriteTokens]).toEqual([cache[0], cache[1]]);
    expect(promptTokens).toBe(1_000);
  });

  it.each(Object.entries(impossible))('with %s counts as one without a cache', (_, usage) => {
    const report = readReport(usageOf(usage), true);
    expect(report).toMatchObject({ promptTokens: 1_000, completionTokens: 10, source: 'reported' });
    expect([report?.cachedTokens, report?.cacheWriteTokens]).toEqual([undefined, undefined]);
  });
});

const upstream = await startScriptedUpstream();
const price = { input: 10, output: 20, cachedInput: '0.000000001', cacheWrite: 12.5 };
const parley = await startBehind(upstream.baseUrl, {
  models: [
    { ...servedModel, price },
    { ...servedModel, id: 'one-price', price: { input: 10, output: 20 } },
  ],
});
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

/** Asks by one of the paths to a chat, of which the upstream reports the usage. */
async function ask(path: keyof typeof bodies, members: Json, model = 'served') {
  const usage = { ...counts, ...members };
  upstream.answer('/chat/completions', (exchange) => {
    if (!exchange.request.json.stream) return json(completion('text', { usage }))(exchange);
    const parts = [
      chunk({ content: 'text' }, { finish_reason: 'stop' }),
      { ...chunk({}), choices: [], usage },
    ];
    return events(parts)(exchange);
  });
  const response = await parley.postJson(path, { ...bodies[path], model });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return { text, record: await parley.recordOf(response) };
}

const messages = [{ role: 'user', content: 'x'.repeat(2_000) }];
const bodies = {
  '/chat/completions': { messages },
  '/chat/completions?streamed': { messages, stream: true },
  '/responses': { input: 'x'.repeat(2_000) },
  '/completions': { prompt: 'x'.repeat(2_000) },
} as const;
const paths = Object.keys(bodies) as (keyof typeof bodies)[];
const cache = { prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 } };
/** 300 tokens at 10 credits, 600 at a nano-credit, 100 at 12.5 and 10 at 20, for a million each; rounded up once. */
const costOfCache = 300n * 10_000n + 1n + 100n * 12_500n + 10n * 20_000n;

describe('a chat with a cached prompt', () => {
  it.each(paths)('pays the prices of its parts, rounded up once: %s', async (path) => {
    const { record } = await ask(path, cache);
    expect(record).toMatchObject({
      state: 'ok',
      cost: costOfCache,
      tokens: { promptTokens: 1_000, cachedTokens: 600, cacheWriteTokens: 100, source: 'reported' },
    });
  });

  it.each(paths)('tells the client what it paid for: %s', async (path) => {
    const { text } = await ask(path, { prompt_cache_hit_tokens: 600 });
    expect(text).toContain('"cached_tokens":600');
  });

  it('shows no details that it did not believe', async () => {
    const { text, record } = await ask('/chat/completions', {
      prompt_tokens_details: { cached_tokens: 4_000 },
    });
    expect(text).not.toContain('4000');
    expect(record.cost).toBe(1_000n * 10_000n + 10n * 20_000n);
  });

  it('pays the price of input without a price of its own, never nothing', async () => {
    const { record } = await ask('/chat/completions', cache, 'one-price');
    expect(record.cost).toBe(1_000n * 10_000n + 10n * 20_000n);
  });

  it('pays the price of its side for audio that is reported apart', async () => {
    const { record } = await ask('/chat/completions', {
      prompt_tokens_details: { audio_tokens: 700 },
      completion_tokens_details: { audio_tokens: 5 },
    });
    expect(record.cost).toBe(1_000n * 10_000n + 10n * 20_000n);
  });

  it('holds the highest price that its prompt can have', async () => {
    let held: bigint | undefined;
    upstream.answer('/chat/completions', async (exchange) => {
      held = (await parley.app.store.accounts.find(parley.accountId))?.held;
      await json(completion('text', { usage: { ...counts, ...cache } }))(exchange);
    });
    const body = { model: 'served', messages, max_tokens: 1 };
    await (await parley.postJson('/chat/completions', body)).text();
    expect(held).toBe(BigInt(JSON.stringify(body).length) * 12_500n + 20_000n);
  });
});

it('is in the records, the totals and the catalog that clients see', async () => {
  const { record } = await ask('/chat/completions', cache);
  const read = async (path: string) => (await (await parley.call(path)).json()) as Json;
  const { records } = await read(`/usage?id=${record.id}`);
  expect(records).toMatchObject([{ cached_tokens: 600, cache_write_tokens: 100 }]);
  const [total] = (await parley.app.store.usage.totals({
    accountId: parley.accountId,
    fromMs: undefined,
    untilMs: undefined,
    groupBy: [],
    totalsMax: 1,
  })) as readonly { cachedTokens: bigint; cacheWriteTokens: bigint }[];
  const { records: all } = await parley.books();
  const sum = (of: (one: (typeof all)[number]) => number | undefined) =>
    all.reduce((sum, one) => sum + (of(one) ?? 0), 0);
  expect(total?.cachedTokens).toBe(BigInt(sum((one) => one.cachedTokens)));
  expect(total?.cacheWriteTokens).toBe(BigInt(sum((one) => one.cacheWriteTokens)));
  const { data } = await read('/models?type=chat');
  expect(data).toMatchObject([
    { price: { input: '10', output: '20', cached_input: '0.000000001', cache_write: '12.5' } },
    { price: { input: '10', output: '20' } },
  ]);
});
