/** The hold of a chat, from its reservation to its settlement. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import Sqlite from 'better-sqlite3';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  ChatCompletionSchema,
  UsageSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { Store } from '../../../src/core/entities/store.ts';
import type { Log } from '../../../src/core/values/log.ts';
import { openStore } from '../../../src/store/sqlite/open-store.ts';
import { createTokenCounter } from '../../../src/tokens/counter.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { bearer, errorOf, type Parley, type ParleyOptions, startParley } from '../../support/parley.ts';
import { withRequests } from '../../support/reservations.ts';
import { scratchPath } from '../../support/scratch-path.ts';

/** For events that take a moment, on a machine that may be busy. */
const soon = { timeout: 120_000 };

const chat = '/chat/completions';
/** A thousandth of a credit per prompt token, two per answer token. */
const inputNano = 1_000_000;
const outputNano = 2_000_000;
const contextTokens = 1000;
const outputTokensMax = 100;
const settings = `
models:
  - {id: m, type: chat, engine: builtin, price: {input: 1000, output: 2000}, contextTokens: ${contextTokens}, outputTokensMax: ${outputTokensMax}}
  - {id: free, type: chat, engine: builtin, price: {input: 0, output: 0}}
  - {id: third, type: chat, engine: builtin, price: {input: 0.000333333, output: 0.000333333}}
  - {id: talker, type: chat, engine: builtin, price: {input: 0, output: 1000000}}
  - {id: wide, type: chat, engine: builtin, price: {input: 0, output: 0}, contextTokens: 65536, outputTokensMax: 65536}
  - {id: flite, type: speech, engine: builtin}
  - {id: pocketsphinx, type: transcription, engine: builtin}
`;
const folder = scratchPath('hold');
const file = join(folder, 'parley.yaml');
writeFileSync(file, settings);

type Json = Record<string, unknown>;
interface Reported {
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  readonly totalTokens?: number;
  readonly promptTokensDetails?: { cachedTokens: number };
  readonly other?: { [name: string]: number | null };
}

/** Records the requests to the engine. Tests set its report, and when it continues. */
const engine = {
  seen: [] as ChatCompletionParams[],
  reports: undefined as Reported | undefined,
  /** Chunks for a stream, instead of one text with its end. */
  chunks: undefined as MessageInitShape<typeof ChatCompletionChunkSchema>[] | undefined,
  goesOn: Promise.withResolvers<void>(),
};
const text = 'one two three';
const usageOf = (reported: Reported | undefined) =>
  reported && { usage: Object.assign(create(UsageSchema), reported) };

const fakes = withFakes({
  chat: fakeChat({
    complete: async (params) => {
      engine.seen.push(params);
      await engine.goesOn.promise;
      const message = { role: 'assistant', content: { value: { case: 'text', value: text } as const } };
      const choices = [{ message, finishReason: 'stop' }];
      return create(ChatCompletionSchema, { choices, ...usageOf(engine.reports) });
    },
    stream: async function* (params, signal) {
      engine.seen.push(params);
      if (engine.chunks) {
        for (const chunk of engine.chunks) yield create(ChatCompletionChunkSchema, chunk);
        const left = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        await Promise.race([engine.goesOn.promise, left]);
        return;
      }
      yield create(ChatCompletionChunkSchema, { choices: [{ delta: { content: text } }] });
      await engine.goesOn.promise;
      const choices = [{ delta: {}, finishReason: 'stop' }];
      yield create(ChatCompletionChunkSchema, { choices, ...usageOf(engine.reports) });
    },
  }),
  speech: fakeSpeech({
    synthesize: () => ({
      audio: (async function* () {
        yield Buffer.alloc(1000, 1);
        // Waits for the first part to leave, so that the client is cut off in the middle of the answer.
        await new Promise((resolve) => setTimeout(resolve, 20));
      })(),
      durationMs: () => 10,
    }),
  }),
  transcription: fakeTranscription({
    transcribe: async function* () {
      yield { kind: 'done', durationMs: 1000, language: 'english' };
    },
  }),
});

let parley: Parley;
const post = (body: Json, key: string) => parley.postJson(chat, body, bearer(key));
const hello = (content = 'Hello there.') => ({ model: 'm', messages: [{ role: 'user', content }] });
const accountOf = async (key: string) =>
  (await (await parley.call('/account', bearer(key))).json()) as {
    id: string;
    balance_nano_credits: number;
    held_nano_credits: number;
  };
const held = async (key: string) => (await accountOf(key)).held_nano_credits;

async function start(options: ParleyOptions = {}): Promise<void> {
  parley = await startParley({ file, engines: fakes, ...options });
}

beforeEach(() => {
  engine.seen = [];
  engine.chunks = undefined;
  engine.reports = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
  engine.goesOn = Promise.withResolvers();
});

/** Starts a chat, and returns it when its engine runs. */
async function running(body: Json, credits: string) {
  const key = await parley.newKey({ credits });
  const response = post(body, key);
  const answered = response.then(async (early) => {
    if (!early.ok) throw new Error(JSON.stringify(await early.clone().json()));
  });
  await Promise.race([expect.poll(() => engine.seen.length, soon).toBe(1), answered]);
  const finish = async () => {
    engine.goesOn.resolve();
    return response;
  };
  return { key, finish, hold: await held(key), bytes: JSON.stringify(body).length };
}

describe('the hold of a chat', () => {
  beforeAll(() => start());
  afterAll(() => parley.close());

  it.each<[string, Json, number]>([
    ['the model’s longest answer', {}, outputTokensMax],
    ['max_tokens', { max_tokens: 7 }, 7],
    ['max_completion_tokens', { max_completion_tokens: 5 }, 5],
    ['the smaller of both', { max_tokens: 7, max_completion_tokens: 50 }, 7],
    ['the model’s longest answer where the client would take more', { max_tokens: 5000 }, outputTokensMax],
    ['as many answers as are asked for', { max_tokens: 7, n: 3 }, 21],
  ])('covers the bytes of the request and %s', async (_, limits, outputTokens) => {
    const { key, hold, bytes, finish } = await running({ ...hello(), ...limits }, '10');
    expect(hold).toBe(bytes * inputNano + outputTokens * outputNano);
    expect((await accountOf(key)).balance_nano_credits).toBe(10_000_000_000);
    expect((await finish()).status).toBe(200);
    expect(await accountOf(key)).toMatchObject({
      held_nano_credits: 0,
      balance_nano_credits: 10_000_000_000 - 7 * inputNano - 3 * outputNano,
    });
    const { n = 1, maxTokens, maxCompletionTokens } = engine.seen[0] ?? {};
    expect((maxTokens ?? maxCompletionTokens ?? 0) * n).toBe(outputTokens);
  });

  it.each<[string, unknown]>([
    ['is longer than that', 'x'.repeat(5000)],
    ['refers to an image', [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }]],
    ['refers to a file', [{ type: 'file', file: { file_id: 'file-1' } }]],
    ['has a part of an unknown kind', [{ type: 'video_url', video_url: { url: 'https://example.com' } }]],
  ])('covers the model’s context where the prompt %s', async (_, content) => {
    const body = { model: 'm', messages: [{ role: 'user', content }], max_tokens: 1 };
    const { hold, finish } = await running(body, '10');
    expect(hold).toBe(contextTokens * inputNano + outputNano);
    await finish();
  });

  it('counts the prompt, with a margin, if its bytes are not affordable', async () => {
    const content = 'The quick brown fox jumps over the lazy dog. '.repeat(15);
    const tokens = createTokenCounter();
    const counted = await tokens.count(content);
    await tokens.close();
    const { hold, bytes, finish } = await running({ ...hello(content), max_tokens: 10 }, '0.5');
    const promptTokens = (hold - 10 * outputNano) / inputNano;
    // A quarter more, and room for the tokens that a template adds to the prompt and its message.
    expect(promptTokens).toBeGreaterThan(counted * 1.25 + 16 + 8);
    expect(promptTokens).toBeLessThan(counted * 2);
    expect(promptTokens).toBeLessThan(bytes);
    expect(engine.seen[0]?.maxTokens).toBe(10);
    await finish();
  });

  const schema = (index: number) => ({
    type: 'object',
    properties: Object.fromEntries(
      Array.from({ length: 40 }, (_, field) => [
        `field_${index}_${field}`,
        { type: 'string', description: `Sets the value of the field number ${field} of the record.` },
      ]),
    ),
  });
  const definitions = Array.from({ length: 12 }, (_, index) => ({
    name: `tool_${index}`,
    description: 'Changes a record.',
    parameters: schema(index),
  }));
  it.each<[string, Json]>([
    ['tools', { tools: definitions.map((called) => ({ type: 'function', function: called })) }],
    ['functions of the older form', { functions: definitions }],
    [
      'response_format',
      {
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'answer',
            schema: { type: 'array', items: definitions.map((one) => one.parameters) },
          },
        },
      },
    ],
  ])('sends a limit that fits beside the prompt and its %s', async (_, more) => {
    const tokens = createTokenCounter();
    const counted = await tokens.count(JSON.stringify(more));
    await tokens.close();
    expect(counted).toBeGreaterThan(5_000);
    const { finish } = await running({ ...hello(), model: 'wide', ...more }, '');
    const limit = engine.seen[0]?.maxTokens ?? Infinity;
    expect(limit).toBeLessThan(65_536 - counted);
    expect(limit).toBeGreaterThan((65_536 - 1.5 * counted) / 2);
    await finish();
  });

  it('keeps the prices at admission', async () => {
    const { key, finish } = await running(hello(), '10');
    const { id } = await accountOf(key);
    const database = new Sqlite(join(parley.dataDir, 'parley.db'), { readonly: true });
    const kept = database.prepare(
      `select price_input, price_output, state from usage_records where account_id = ? and operation = 'chat'`,
    );
    const prices = { price_input: 1000e9, price_output: 2000e9 };
    await expect.poll(() => kept.get(id), soon).toEqual({ ...prices, state: 'started' });
    await finish();
    expect(kept.get(id)).toEqual({ ...prices, state: 'ok' });
    database.close();
  });

  it('is zero for a free model, even without credits', async () => {
    const { key, hold, finish } = await running({ ...hello('x'.repeat(3000)), model: 'free' }, '');
    expect(hold).toBe(0);
    const response = await finish();
    expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', cost: 0n });
    const { entries } = (await (
      await parley.admin(`/accounts/${(await accountOf(key)).id}/ledger`)
    ).json()) as { entries: Json[] };
    expect(entries).toEqual([]);
  });

  describe('if the whole answer is not affordable', () => {
    it.each<[string, Json, (keyof ChatCompletionParams)[]]>([
      ['max_tokens, where the client set none', {}, ['maxTokens']],
      ['max_tokens', { max_tokens: 90 }, ['maxTokens']],
      ['max_completion_tokens', { max_completion_tokens: 90 }, ['maxCompletionTokens']],
      ['both', { max_tokens: 95, max_completion_tokens: 90 }, ['maxTokens', 'maxCompletionTokens']],
      ['max_tokens for each of several answers', { n: 3 }, ['maxTokens']],
    ])('sends the model the largest affordable limit, as %s', async (_, limits, names) => {
      const balance = 150_000_001;
      const { hold, finish } = await running({ ...hello(), ...limits }, '0.150000001');
      const { maxTokens, maxCompletionTokens, n = 1 } = engine.seen[0] ?? {};
      const limit = maxTokens ?? maxCompletionTokens ?? 0;
      expect({ maxTokens, maxCompletionTokens }).toEqual({
        maxTokens: names.includes('maxTokens') ? limit : undefined,
        maxCompletionTokens: names.includes('maxCompletionTokens') ? limit : undefined,
      });
      expect(limit).toBeGreaterThanOrEqual(1);
      expect(limit).toBeLessThan(90);
      expect(hold).toBeLessThanOrEqual(balance);
      expect(hold + n * outputNano, 'one token more of each answer').toBeGreaterThan(balance);
      await finish();
    });

    it('is the balance less the holds of other requests', async () => {
      const first = await running({ ...hello(), max_tokens: 30 }, '0.2');
      const second = post(hello(), first.key);
      await expect.poll(() => engine.seen.length, soon).toBe(2);
      expect(engine.seen[1]?.maxTokens).toBeLessThan(50);
      expect(await held(first.key)).toBeLessThanOrEqual(200_000_000);
      const third = await post(hello(), first.key);
      expect(await errorOf(third)).toMatchObject({ status: 402, code: 'insufficient_credits' });
      await first.finish();
      expect((await second).status).toBe(200);
      expect(await held(first.key)).toBe(0);
    });

    it.each([
      ['1', 1, 200],
      ['0.999999999', 1, 402],
      ['3', 3, 200],
      ['2.999999999', 3, 402],
      ['', 1, 402],
    ])(
      'needs one token for each answer: with %s credits, %i answers at one credit per token are limited to %i tokens',
      async (credits, n, status) => {
        const key = await parley.newKey({ credits });
        engine.goesOn.resolve();
        engine.reports = { promptTokens: 7, completionTokens: n, totalTokens: 7 + n };
        const response = await post({ ...hello(), model: 'talker', n }, key);
        expect(response.status).toBe(status);
        expect(engine.seen.map(({ maxTokens }) => maxTokens)).toEqual(status === 200 ? [1] : []);
        expect(await accountOf(key)).toMatchObject({ held_nano_credits: 0 });
        if (status === 200) return expect((await accountOf(key)).balance_nano_credits).toBe(0);
        expect(response.headers.get('x-should-retry')).toBe('false');
        expect(await errorOf(response)).toMatchObject({ code: 'insufficient_credits', param: null });
        expect(await parley.recordOf(response)).toMatchObject({ state: 'refused', cost: undefined });
      },
    );
  });
});

describe('the builtin chat with too few credits for its whole answer', () => {
  beforeAll(async () => {
    parley = await startParley({ file });
  });
  afterAll(() => parley.close());

  it.each([false, true])('ends with `length` at the last affordable token (streamed: %s)', async (stream) => {
    const key = await parley.newKey({ credits: '3.5' });
    const response = await post({ ...hello('I am worried about my work.'), model: 'talker', stream }, key);
    const body = await response.text();
    expect(response.status).toBe(200);
    expect(body).toContain('"finish_reason":"length"');
    expect(body).toContain('"completion_tokens":3');
    expect(await accountOf(key)).toMatchObject({ balance_nano_credits: 500_000_000, held_nano_credits: 0 });
  });
});

describe('the debit of a chat', () => {
  const warnings: [object, string][] = [];
  const ignore = () => undefined;
  const log: Log = {
    info: ignore,
    error: ignore,
    warn: (fields, message) => warnings.push([fields, message]),
  };
  beforeAll(() => start({ log }));
  afterAll(() => parley.close());
  beforeEach(() => engine.goesOn.resolve());

  const answer = async (body: Json, reports: Reported | undefined, credits = '10') => {
    engine.reports = reports;
    const key = await parley.newKey({ credits });
    const response = await post(body, key);
    const { usage } = (await response.json()) as { usage: Json };
    return { key, usage, record: await parley.recordOf(response) };
  };

  it('rounds up once, over the prompt and the answer together', async () => {
    const body = { ...hello(), model: 'third' };
    const { record } = await answer(body, { promptTokens: 1, completionTokens: 1, totalTokens: 2 });
    expect(record.cost).toBe(1n);
  });

  it('beyond the hold is taken from the credits that the account has available', async () => {
    warnings.length = 0;
    const reports = { promptTokens: 900, completionTokens: 5, totalTokens: 905 };
    const { key, record, usage } = await answer({ ...hello(), max_tokens: 5 }, reports);
    const cost = BigInt(900 * inputNano + 5 * outputNano);
    expect(usage).toMatchObject({ prompt_tokens: 900 });
    expect(record).toMatchObject({ state: 'ok', cost, tokens: { promptTokens: 900 } });
    expect(record.overrun).toBeUndefined();
    expect((await accountOf(key)).balance_nano_credits).toBe(Number(10_000_000_000n - cost));
    expect(warnings).toEqual([]);
  });

  it('beyond hold and available credits is recorded as an overrun and logged', async () => {
    warnings.length = 0;
    const reports = { promptTokens: 900, completionTokens: 5, totalTokens: 905 };
    const body = { ...hello(), max_tokens: 5 };
    const { key, record } = await answer(body, reports, '0.5');
    const hold = JSON.stringify(body).length * inputNano + 5 * outputNano;
    const debit = 500_000_000n;
    const overrun = BigInt(900 * inputNano + 5 * outputNano) - debit;
    expect(record).toMatchObject({ state: 'ok', cost: debit, overrun });
    expect(await accountOf(key)).toMatchObject({ balance_nano_credits: 0, held_nano_credits: 0 });
    expect(warnings).toEqual([
      [
        { requestId: record.id, hold: String(hold), debit: String(debit), overrun: String(overrun) },
        'the cost exceeds the hold, the available credits and the budgets',
      ],
    ]);
  });

  it.each<[string, Reported | undefined]>([
    ['nothing', undefined],
    ['nothing but zeros', {}],
    ['a negative prompt', { promptTokens: -5, completionTokens: 3, totalTokens: 3 }],
    ['a negative answer', { promptTokens: 5, completionTokens: -3, totalTokens: 8 }],
    ['a negative total', { promptTokens: 5, completionTokens: 3, totalTokens: -8 }],
    ['a fraction of a token', { promptTokens: 5.5, completionTokens: 3, totalTokens: 8.5 }],
    ['a fraction that was read as unknown', { completionTokens: 3, other: { prompt_tokens: 5.5 } }],
    ['a null', { promptTokens: 5, totalTokens: 8, other: { completion_tokens: null } }],
    ['what is no number', { promptTokens: Number.NaN, completionTokens: 3, totalTokens: 3 }],
    ['an answer without a prompt', { completionTokens: 3, totalTokens: 3 }],
    ['a text of no tokens', { promptTokens: 5, totalTokens: 5 }],
  ])('is counted here if the model reports %s', async (_, reports) => {
    const { usage, record } = await answer(hello(), reports);
    expect(record.tokens).toMatchObject({ source: 'estimated', completionTokens: 3 });
    const { promptTokens = 0, completionTokens = 0, totalTokens } = record.tokens ?? {};
    expect(promptTokens).toBeGreaterThan(2);
    expect(totalTokens).toBe(promptTokens + completionTokens);
    expect(usage).toEqual({
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: totalTokens,
    });
    expect(record.cost).toBe(BigInt(promptTokens * inputNano + completionTokens * outputNano));
  });

  it.each<[string, Reported, number, number]>([
    ['a prompt over its context', { promptTokens: 1001, completionTokens: 3, totalTokens: 1004 }, 1000, 3],
    ['an answer over its limit', { promptTokens: 5, completionTokens: 101, totalTokens: 106 }, 5, 100],
    ['a total over its limit', { promptTokens: 5, completionTokens: 3, totalTokens: 106 }, 5, 100],
  ])('is bounded if the model reports %s', async (_, reports, promptTokens, completionTokens) => {
    const { usage, record } = await answer(hello(), reports);
    const totalTokens = promptTokens + completionTokens;
    expect(record.tokens).toMatchObject({ source: 'estimated', promptTokens, completionTokens, totalTokens });
    expect(usage).toMatchObject({ prompt_tokens: promptTokens, completion_tokens: completionTokens });
    expect(record.cost).toBe(BigInt(promptTokens * inputNano + completionTokens * outputNano));
  });

  it('counts offered tools as part of the prompt', async () => {
    const definition = { name: 'look_up', description: 'Looks a word up in a dictionary. '.repeat(20) };
    const tools = [{ type: 'function', function: definition }];
    const without = (await answer(hello(), undefined)).record.tokens?.promptTokens ?? 0;
    const { record } = await answer({ ...hello(), tools }, undefined);
    expect(record.tokens?.promptTokens).toBeGreaterThan(without + 100);
  });

  it('counts reasoning that is only in the total as output', async () => {
    const { usage, record } = await answer(hello(), {
      promptTokens: 10,
      completionTokens: 5,
      totalTokens: 40,
    });
    expect(record.tokens).toEqual({
      promptTokens: 10,
      completionTokens: 30,
      totalTokens: 40,
      source: 'reported',
    });
    expect(usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 30, total_tokens: 40 });
    expect(record.cost).toBe(BigInt(10 * inputNano + 30 * outputNano));
  });

  describe('of a stream', () => {
    const delta = { content: text };
    const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
    const stream = async (key: string, chunks: typeof engine.chunks, init: RequestInit = {}) => {
      engine.chunks = chunks;
      return parley.postJson(chat, { ...hello(), stream: true }, { ...bearer(key), ...init });
    };

    it.each<[string, NonNullable<typeof engine.chunks>]>([
      ['with the finish reason', [{ choices: [{ delta }] }, { choices: [{ finishReason: 'stop' }], usage }]],
      ['without choices after it', [{ choices: [{ delta, finishReason: 'stop' }] }, { choices: [], usage }]],
      [
        'with an empty choice after it',
        [{ choices: [{ delta, finishReason: 'stop' }] }, { choices: [{ delta: { content: '' } }], usage }],
      ],
    ])('is by the report that comes %s', async (_, chunks) => {
      const response = await stream(await parley.newKey({ credits: '10' }), chunks);
      const events = (await response.text()).trimEnd().split('\n\n');
      expect(events.at(-1)).toBe('data: [DONE]');
      expect(events.at(-2)).toMatch(/"finish_reason":"stop".*"prompt_tokens":7,"completion_tokens":3/);
      expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', tokens: { source: 'reported' } });
    });

    it('treats an empty finish reason as none, and an answer without one as a failure', async () => {
      const response = await stream(await parley.newKey({ credits: '10' }), [
        { choices: [{ delta, finishReason: '' }] },
      ]);
      expect(await response.text()).toMatch(/three.*"code":"upstream_error"[^\n]*\n\n$/s);
      expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', cost: undefined });
    });

    it('needs a finish reason for every started choice', async () => {
      const choices = [{ delta, finishReason: 'stop' }];
      const response = await stream(await parley.newKey({ credits: '10' }), [
        { choices: [{ index: 1, delta }] },
        { choices, usage },
      ]);
      expect(await response.text()).toMatch(/"code":"upstream_error"[^\n]*\n\n$/);
    });

    it('that the client leaves counts the produced tokens, despite earlier reports', async () => {
      engine.goesOn = Promise.withResolvers();
      const early = { promptTokens: 7, completionTokens: 1, totalTokens: 8 };
      const leave = new AbortController();
      const response = await stream(
        await parley.newKey({ credits: '10' }),
        [{ choices: [{ delta: { role: 'assistant' } }], usage: early }, { choices: [{ delta }] }],
        { signal: leave.signal },
      );
      const reader = response.body?.getReader();
      while (!Buffer.from((await reader?.read())?.value ?? text).includes(text));
      leave.abort();
      const { state, tokens, cost } = await parley.recordOf(response);
      expect([state, tokens?.completionTokens, tokens?.source]).toEqual(['cancelled', 3, 'estimated']);
      expect(cost).toBe(BigInt((tokens?.promptTokens ?? 0) * inputNano + 3 * outputNano));
    });
  });

  it('charges the price of input for a cached prompt without a price of its own', async () => {
    const { usage, record } = await answer(hello(), {
      promptTokens: 50,
      completionTokens: 3,
      totalTokens: 53,
      promptTokensDetails: { cachedTokens: 48 },
    });
    expect(record.cost).toBe(BigInt(50 * inputNano + 3 * outputNano));
    expect(usage).toMatchObject({ prompt_tokens_details: { cached_tokens: 48 } });
  });
});

describe('settling', () => {
  /** Runs before the store settles a request. */
  let beforeSettle: () => Promise<void> = async () => undefined;
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  beforeEach(async () => {
    beforeSettle = async () => undefined;
    engine.goesOn.resolve();
    await start({ log, openStore: async (dataDir) => slowedDown(await openStore(dataDir)) });
  });
  afterEach(() => parley.close());

  function slowedDown(store: Store): Store {
    return withRequests(store, {
      settle: async (...end) => {
        await beforeSettle();
        return store.requests.settle(...end);
      },
    });
  }

  const form = (fields: Json = {}) => {
    const body = new FormData();
    body.append('file', new Blob(['audio']), 'a.wav');
    for (const [name, value] of Object.entries(fields)) body.append(name, String(value));
    return { method: 'POST', body };
  };
  const json = (body: Json) => ({ method: 'POST', body: JSON.stringify(body) });
  const requests: [string, string, () => RequestInit][] = [
    ['a chat', chat, () => json(hello())],
    ['a streamed chat', chat, () => json({ ...hello(), stream: true })],
    ['speech', '/audio/speech', () => json({ model: 'flite', input: 'Hello.' })],
    ['a transcription', '/audio/transcriptions', () => form()],
    ['a streamed transcription', '/audio/transcriptions', () => form({ stream: true })],
  ];

  it.each(requests)('%s is committed before its end is sent', async (_, path, init) => {
    const commit = Promise.withResolvers<void>();
    beforeSettle = () => commit.promise;
    let ended = false;
    let received = '';
    const whole = (async () => {
      const response = await parley.call(path, init());
      for await (const part of response.body ?? []) received += Buffer.from(part).toString('latin1');
      ended = true;
    })();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(ended).toBe(false);
    expect(received).not.toMatch(/"finish_reason":"stop"|\[DONE\]|"usage"|text\.done/);
    commit.resolve();
    await whole;
    expect(ended).toBe(true);
  });

  it.each(requests)(
    '%s that cannot be settled fails, costs nothing, and releases its hold',
    async (_, path, init) => {
      beforeSettle = () => Promise.reject(new Error('the disk is gone'));
      const response = await parley.call(path, init());
      const body = await response.text().catch(() => 'cut');
      if (response.status === 200) {
        expect(body).toMatch(/^cut$|data: \{"error":\{.*"code":"internal_error"\}\}\n\n$/s);
        expect(body).not.toMatch(/"finish_reason":"stop"|\[DONE\]|text\.done/);
      } else {
        expect(response.status).toBe(500);
        expect(body).toContain('internal_error');
      }
      const during = await accountOf(parley.apiKey);
      expect(during.held_nano_credits > 0).toBe(path === chat);
      beforeSettle = async () => undefined;
      await expect.poll(() => held(parley.apiKey), soon).toBe(0);
      expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', code: 'internal_error' });
      expect(await accountOf(parley.apiKey)).toMatchObject({
        balance_nano_credits: 10_000_000_000,
        fair_use: { used_units: 0 },
      });
    },
  );
});

describe('an adjustment', () => {
  beforeAll(() => start());
  afterAll(() => parley.close());
  const change = (amount: string, idempotency_key: string) => ({ amount, reason: 'test', idempotency_key });

  it('cannot take the balance below the held credits', async () => {
    const { key, hold, finish } = await running({ ...hello(), max_tokens: 10 }, '1');
    const { id } = await accountOf(key);
    const free = 1_000_000_000 - hold;
    const credits = (nano: number) => `-0.${String(nano).padStart(9, '0')}`;
    const adjust = async (amount: string, once: string) =>
      parley.admin(`/accounts/${id}/adjustments`, change(amount, once));
    expect(await errorOf(await adjust(credits(free + 1), 'a'))).toMatchObject({
      status: 402,
      code: 'insufficient_credits',
      param: 'amount',
    });
    expect((await adjust(credits(free), 'b')).status).toBe(200);
    expect(await accountOf(key)).toMatchObject({ balance_nano_credits: hold, held_nano_credits: hold });
    await finish();
    const left = hold - 7 * inputNano - 3 * outputNano;
    expect((await accountOf(key)).balance_nano_credits).toBe(left);
    expect(await errorOf(await adjust(credits(left + 1), 'c'))).toMatchObject({ status: 402 });
    expect((await adjust(credits(left), 'd')).status).toBe(200);
    expect((await accountOf(key)).balance_nano_credits).toBe(0);
  });

  it.each(['credits', 'adjustments'])('of %s happens once for its key', async (path) => {
    const key = await parley.newKey();
    const { id } = await accountOf(key);
    for (let time = 0; time < 3; time++) {
      expect((await parley.admin(`/accounts/${id}/${path}`, change('2.5', 'once'))).status).toBe(200);
    }
    const both = await Promise.all(
      [1, 2].map(() => parley.admin(`/accounts/${id}/${path}`, change('1', 'twice'))),
    );
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect((await accountOf(key)).balance_nano_credits).toBe(3_500_000_000);
    const other = await parley.admin(`/accounts/${id}/${path}`, change('2.6', 'once'));
    expect(await errorOf(other)).toMatchObject({ status: 409, code: 'idempotency_conflict' });
  });
});
