/** `Idempotency-Key`: a repeated request gets the first successful answer again, and is charged once. */

import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { ChatCompletionChunkSchema, ChatCompletionSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import type { Signal } from '../../../src/core/values/signal.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { completion, question } from '../../support/chat-answers.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { bearer, errorOf, startParley, TestClock } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { testsPostgres } from '../../support/store-folder.ts';
import { json } from '../../support/upstream-answers.ts';

/** For events that take a moment, on a machine that may be busy. */
const soon = { timeout: 120_000 };

type Json = Record<string, unknown>;

/** Engines that count each run, wait, and fail on demand. */
const engine = {
  runs: 0,
  fails: undefined as Error | undefined,
  goesOn: Promise.resolve(),
  audioBytes: 0,
  signal: undefined as Signal | undefined,
  async begin(signal: Signal): Promise<number> {
    this.signal = signal;
    const run = ++this.runs;
    const left = new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    );
    left.catch(() => undefined);
    await Promise.race([this.goesOn, left]);
    if (this.fails) throw this.fails;
    return run;
  },
};

const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
const engines = withFakes({
  chat: fakeChat({
    complete: async (_, signal) => {
      const content = { value: { case: 'text', value: `answer ${await engine.begin(signal)}` } as const };
      const other = { vendor: { b: null, a: [1.5, { z: 1, y: 2 }] } };
      const choices = [{ message: { role: 'assistant', content }, finishReason: 'stop', other }];
      return create(ChatCompletionSchema, { id: 'chatcmpl-1', created: 5n, choices, usage, other });
    },
    stream: async function* (_, signal) {
      await engine.begin(signal);
      const choices = [{ delta: { content: 'hi' }, finishReason: 'stop' }];
      yield create(ChatCompletionChunkSchema, { choices, usage });
    },
  }),
  speech: fakeSpeech({
    synthesize: (_, signal) => ({
      audio: (async function* () {
        const run = await engine.begin(signal);
        yield Buffer.from(`audio ${run}`);
        for (let sent = 0; sent < engine.audioBytes; sent += 65_536) yield Buffer.alloc(65_536, run);
      })(),
      durationMs: () => 700,
    }),
  }),
  transcription: fakeTranscription({
    transcribe: async function* ({ signal }) {
      const text = `words ${await engine.begin(signal)}`;
      const segment = { startMs: 0, endMs: 900, text, words: [], avgLogprob: -0.25 };
      yield { kind: 'segment', segment };
      yield { kind: 'done', durationMs: 1000, language: 'english' };
    },
  }),
});

const clock = new TestClock();
const parley = await startParley({
  engines,
  clock,
  settings: { limits: { keptAnswerBytesPerAccountMax: 16 * 1024 * 1024 } },
});
afterAll(() => parley.close());

beforeEach(() => {
  Object.assign(engine, { runs: 0, fails: undefined, goesOn: Promise.resolve(), audioBytes: 0 });
});

let keys = 0;
const newName = () => `name-${++keys}`;
const newAccount = () => parley.newKey({ trial: true, credits: '1' });

interface Target {
  readonly key: string;
  readonly name: string | undefined;
  readonly baseUrl?: string;
  readonly signal?: AbortSignal;
}
const send = (path: string, body: string | FormData, { key, name, baseUrl, signal }: Target) =>
  fetch((baseUrl ?? parley.baseUrl) + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, ...(name !== undefined && { 'idempotency-key': name }) },
    body,
    ...(signal && { signal }),
  });

const chatBody: Json = { model: 'eliza', messages: [{ role: 'user', content: 'Hello there.' }] };
const chat = (target: Target, more: Json = {}) =>
  send('/chat/completions', JSON.stringify({ ...chatBody, ...more }), target);
const speech = (target: Target, more: Json = {}) =>
  send('/audio/speech', JSON.stringify({ model: 'flite', input: 'Hello there.', ...more }), target);
function transcription(target: Target, more: Json = {}): Promise<Response> {
  const { file = 'audio', ...fields } = more;
  const form = new FormData();
  form.append('file', new Blob([String(file)]), 'a.wav');
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  return send('/audio/transcriptions', form, target);
}

const operations = [
  ['chat', chat, 'eliza'],
  ['speech', speech, 'flite'],
  ['transcription', transcription, 'pocketsphinx'],
] as const;

/** The spent and the reserved credits and units of an account. */
async function spentBy(key: string) {
  const account = (await (await parley.call('/account', bearer(key))).json()) as {
    balance_nano_credits: number;
    held_nano_credits: number;
    fair_use: { used_units: number };
  };
  const { balance_nano_credits, held_nano_credits, fair_use } = account;
  return { nano: 1_000_000_000 - balance_nano_credits, held: held_nano_credits, units: fair_use.used_units };
}

const isReplay = (response: Response) => response.headers.get('idempotent-replayed') === 'true';

describe.each(operations)('the same %s under the same key', (operation, ask, model) => {
  it('gets the first answer again, free of charge and without running', async () => {
    const target = { key: await newAccount(), name: newName() };
    const first = await ask(target);
    const body = await first.text();
    expect([first.status, isReplay(first)]).toEqual([200, false]);
    const spent = await spentBy(target.key);
    expect(spent.nano + spent.units).toBeGreaterThan(0);
    const again = await ask(target);
    expect([again.status, isReplay(again)]).toEqual([200, true]);
    expect(await again.text()).toBe(body);
    expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
    expect(engine.runs).toBe(1);
    expect(await spentBy(target.key)).toEqual(spent);
    const record = await parley.recordOf(again);
    expect(record).toMatchObject({ operation, model, state: 'replayed', httpStatus: 200 });
    expect([record.cost, record.tokens, record.fairUseUnits]).toEqual([undefined, undefined, undefined]);
  });

  it('is a conflict while the first still runs, and is charged once', async () => {
    const target = { key: await newAccount(), name: newName() };
    const goesOn = Promise.withResolvers<void>();
    engine.goesOn = goesOn.promise;
    const first = ask(target);
    await expect.poll(() => engine.runs, soon).toBe(1);
    for (const early of await Promise.all([ask(target), ask(target), ask(target)])) {
      expect(early.headers.get('retry-after')).toBe('1');
      expect(await errorOf(early)).toMatchObject({ status: 409, code: 'idempotency_conflict' });
      expect(await parley.recordOf(early)).toMatchObject({ state: 'refused', code: 'idempotency_conflict' });
    }
    goesOn.resolve();
    const body = await (await first).text();
    const spent = await spentBy(target.key);
    expect(await (await ask(target)).text()).toBe(body);
    expect(await spentBy(target.key)).toEqual({ ...spent, held: 0 });
    expect(engine.runs).toBe(1);
  });

  it('runs again if the first has failed', async () => {
    const target = { key: await newAccount(), name: newName() };
    engine.fails = new ParleyError('upstream_error');
    expect((await ask(target)).status).toBe(502);
    expect(await spentBy(target.key)).toEqual({ nano: 0, held: 0, units: 0 });
    engine.fails = undefined;
    const second = await ask(target);
    expect([second.status, isReplay(second), engine.runs]).toEqual([200, false, 2]);
    await second.text();
    expect(isReplay(await ask(target))).toBe(true);
  });

  it('runs again if the first client left', async () => {
    const target = { key: await newAccount(), name: newName() };
    engine.goesOn = new Promise(() => undefined);
    const leave = new AbortController();
    const first = ask({ ...target, signal: leave.signal }).catch(() => undefined);
    await expect.poll(() => engine.runs, soon).toBe(1);
    leave.abort();
    await first;
    await expect.poll(() => engine.signal?.aborted, soon).toBe(true);
    engine.goesOn = Promise.resolve();
    await expect.poll(async () => (await ask(target)).status, soon).toBe(200);
  });

  it('runs for another account, for another operation, and without a key', async () => {
    const target = { key: await newAccount(), name: newName() };
    await (await ask(target)).text();
    const others = [
      await ask({ ...target, key: await newAccount() }),
      await (operation === 'speech' ? chat : speech)(target),
      await ask({ ...target, name: undefined }),
      await ask({ ...target, name: `${target.name}x` }),
    ];
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(others.some(isReplay)).toBe(false);
    expect(engine.runs).toBe(5);
  });

  it('gets the first answer for 24 hours, then runs', async () => {
    const target = { key: await newAccount(), name: newName() };
    await (await ask(target)).text();
    clock.nowMs += 24 * 3_600_000;
    expect(isReplay(await ask(target))).toBe(true);
    clock.nowMs += 1;
    const later = await ask(target);
    expect([later.status, isReplay(later), engine.runs]).toEqual([200, false, 2]);
    clock.nowMs -= 24 * 3_600_000 + 1;
  });

  it.each([
    ['an empty key', 0, 400],
    ['a key of 255 characters', 255, 200],
    ['a key of 256 characters', 256, 400],
  ])('with %s is answered so', async (_, length, status) => {
    const key = await newAccount();
    const response = await ask({ key, name: 'k'.repeat(length) });
    expect([response.status, engine.runs]).toEqual([status, status === 200 ? 1 : 0]);
    if (status === 200) return;
    expect(await errorOf(response)).toMatchObject({ code: 'invalid_parameter', param: 'Idempotency-Key' });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'refused', model });
  });
});

it('a key is free again once the end of its failed request can be written', async () => {
  const target = { key: await newAccount(), name: newName() };
  const settle = vi.spyOn(parley.app.store.requests, 'settle');
  settle.mockRejectedValue(new ParleyError('overloaded'));
  expect((await chat(target)).status).toBe(503);
  settle.mockRestore();
  await expect.poll(async () => (await chat(target)).status, soon).toBe(200);
  expect(engine.runs).toBe(2);
  expect(await spentBy(target.key)).toMatchObject({ held: 0 });
});

describe('the same request', () => {
  it('may have its JSON members in another order, and other white space', async () => {
    const target = { key: await newAccount(), name: newName() };
    const parameters = { type: 'object', properties: { a: { type: 'string' }, b: { type: 'number' } } };
    const turned = { properties: { b: { type: 'number' }, a: { type: 'string' } }, type: 'object' };
    const tool = (schema: Json) => [{ type: 'function', function: { name: 'f', parameters: schema } }];
    const first = { metadata: { x: '1', y: '2' }, new_field: { p: [1, null], q: { r: 1, s: 2 } } };
    const second = { new_field: { q: { s: 2, r: 1 }, p: [1, null] }, metadata: { y: '2', x: '1' } };
    expect((await chat(target, { ...first, tools: tool(parameters) })).status).toBe(200);
    const { messages, model } = chatBody;
    const text = JSON.stringify({ ...second, tools: tool(turned), messages, model }, undefined, 3);
    expect(isReplay(await send('/chat/completions', `\n${text}\n`, target))).toBe(true);
  });

  it('may differ in dropped fields', async () => {
    const target = { key: await newAccount(), name: newName() };
    await (await speech(target, { speed: 1 })).text();
    expect(isReplay(await speech(target, { speed: 2, instructions: 'None' }))).toBe(true);
  });

  it('may name the default format', async () => {
    const target = { key: await newAccount(), name: newName() };
    await (await transcription(target)).text();
    expect(isReplay(await transcription(target, { response_format: 'json' }))).toBe(true);
  });

  it.each<[string, typeof chat, Json]>([
    ['message', chat, { messages: [{ role: 'user', content: 'Hello there!' }] }],
    ['parameter', chat, { temperature: 0.5 }],
    ['unknown member', chat, { new_field: { p: 2 } }],
    ['order of a list', chat, { stop: ['b', 'a'] }],
    ['input', speech, { input: 'Hello there!' }],
    ['audio format', speech, { response_format: 'wav' }],
    ['file', transcription, { file: 'other' }],
    ['language', transcription, { language: 'de' }],
    ['model', transcription, { model: 'whisper-1' }],
    ['format of the answer', transcription, { response_format: 'verbose_json' }],
  ])('may not have another %s: this is a conflict, and nothing is charged', async (what, ask, more) => {
    const target = { key: await newAccount(), name: newName() };
    const known = what === 'order of a list' ? { stop: ['a', 'b'] } : {};
    await (await ask(target, known)).text();
    const spent = await spentBy(target.key);
    const other = await ask(target, more);
    expect(other.headers.get('retry-after')).toBeNull();
    expect(await errorOf(other)).toMatchObject({ status: 409, code: 'idempotency_conflict' });
    expect(await parley.recordOf(other)).toMatchObject({ state: 'refused', httpStatus: 409 });
    expect(await spentBy(target.key)).toEqual(spent);
    expect(isReplay(await ask(target, known))).toBe(true);
    expect(engine.runs).toBe(1);
  });
});

describe('a key', () => {
  it('is free again after a refusal, also for another request', async () => {
    const target = { key: await newAccount(), name: newName() };
    expect((await chat(target, { model: 'nope' })).status).toBe(400);
    expect((await chat(target, { max_tokens: 1.5 })).status).toBe(400);
    expect((await chat(target)).status).toBe(200);
    const poor = { key: await parley.newKey(), name: newName() };
    expect(await errorOf(await chat(poor))).toMatchObject({ status: 402, code: 'insufficient_credits' });
    expect(await errorOf(await chat(poor))).toMatchObject({ status: 402, code: 'insufficient_credits' });
  });

  it('belongs to one of any number of simultaneous requests', async () => {
    const target = { key: await newAccount(), name: newName() };
    const answers = await Promise.all(Array.from({ length: 20 }, () => chat(target)));
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(answers.filter((answer) => answer.status === 200 && !isReplay(answer)).length).toBe(1);
    expect(engine.runs).toBe(1);
    // 7 tokens at 100 and 3 tokens at 400 nano-credits.
    expect(await spentBy(target.key)).toEqual({ nano: 1900, held: 0, units: 0 });
  });

  it('has no effect on a stream', async () => {
    const target = { key: await newAccount(), name: newName() };
    await (await chat(target)).text();
    const tooLong = { ...target, name: 'k'.repeat(300) };
    for (const each of [target, target, tooLong]) {
      const response = await chat(each, { stream: true });
      expect([response.status, isReplay(response)]).toEqual([200, false]);
      expect(await response.text()).toContain('[DONE]');
    }
    expect(engine.runs).toBe(4);
  });

  it('of an account are kept up to its limit of bytes, the newest before the oldest', async () => {
    const key = await newAccount();
    engine.audioBytes = 4_000_000;
    const names = Array.from({ length: 8 }, newName);
    const speak = async (name: string) => {
      clock.nowMs += 1;
      const answer = await speech({ key, name });
      await answer.arrayBuffer();
      expect(answer.status).toBe(200);
      return answer.headers.get('idempotent-replayed');
    };
    for (const name of names) expect(await speak(name)).toBeNull();
    expect(await speak(names.at(-1) ?? '')).toBe('true');
    expect(await speak(names.at(-2) ?? '')).toBe('true');
    expect(await speak(names[0] ?? '')).toBeNull();
    expect(engine.runs).toBe(9);
  });

  it('keeps an answer of some 8 MB, and is free again after a larger one', async () => {
    const target = { key: await newAccount(), name: newName() };
    engine.audioBytes = 8_000_000;
    const bytes = Buffer.from(await (await speech(target)).arrayBuffer());
    const again = await speech(target);
    expect(isReplay(again)).toBe(true);
    expect(bytes.equals(Buffer.from(await again.arrayBuffer()))).toBe(true);
    expect(await spentBy(target.key)).toMatchObject({ units: 12 });
    const large = { key: await newAccount(), name: newName() };
    engine.audioBytes = 8 * 1024 * 1024;
    for (let time = 1; time <= 2; time++) {
      const response = await speech(large);
      expect([response.status, isReplay(response)]).toEqual([200, false]);
      await response.arrayBuffer();
      expect(await spentBy(large.key)).toMatchObject({ units: 12 * time });
    }
    expect(engine.runs).toBe(3);
  });

  // On PostgreSQL another node releases the claims: see test/store/postgres/nodes.test.ts.
  if (!testsPostgres) {
    it('is free again after the process was killed during its request, and stored answers stay', async () => {
      const kept = { key: await newAccount(), name: newName() };
      const running = { key: await newAccount(), name: newName() };
      const body = await (await chat(kept)).text();
      const goesOn = Promise.withResolvers<void>();
      engine.goesOn = goesOn.promise;
      const cut = Promise.all(operations.map(([, ask]) => ask(running).then((answer) => answer.text())));
      await expect.poll(() => engine.runs, soon).toBe(4);
      const started = { state: 'started' };
      const { store } = parley.app;
      const page = { size: 10, after: undefined };
      await expect.poll(async () => (await store.usage.list(started, page)).items.length, soon).toBe(3);
      // A copy of the files has the state that a process killed at this moment would leave.
      const folder = mkdtempSync(join(tmpdir(), 'parley-killed-'));
      cpSync(parley.dataDir, folder, { recursive: true });
      goesOn.resolve();
      await cut;
      const overrides = { dataDir: folder, server: { port: 0 }, log: { level: 'silent' } };
      const app = await createApp(loadConfig({ env: {}, overrides }), { engines, clock });
      try {
        const { baseUrl } = app;
        const { items } = await app.store.usage.list(
          { state: 'interrupted' },
          { size: 10, after: undefined },
        );
        expect(items.map(({ operation }) => operation).sort()).toEqual(['chat', 'speech', 'transcription']);
        for (const { cost, fairUseUnits = 0 } of items) expect([cost, fairUseUnits]).toEqual([undefined, 0]);
        const held = items.flatMap(({ reserved }) => reserved ?? []);
        expect(held).toEqual([expect.toSatisfy((amount) => amount > 0n)]);
        for (const [, ask] of operations) {
          const response = await ask({ ...running, baseUrl });
          expect([response.status, isReplay(response)]).toEqual([200, false]);
          await response.text();
        }
        const again = await chat({ ...kept, baseUrl });
        expect([isReplay(again), await again.text()]).toEqual([true, body]);
      } finally {
        await app.close();
        rmSync(folder, { recursive: true });
      }
    });
  }
});

describe('an answer in an upstream’s own form', () => {
  const choice = { message: { content: 'hi', role: 'assistant' }, finish_reason: 'stop' };
  const token = { token: 'hi', logprob: -0.5 };
  const deep = JSON.parse(`${'['.repeat(150)}1${']'.repeat(150)}`);

  it.each<[string, Json]>([
    ['in the order that it likes', { z: 1, choices: [{ ...choice, index: 0 }], a: { y: [null], b: 'c' } }],
    ['with members left out', { id: undefined, choices: [{ ...choice, logprobs: { content: [token] } }] }],
    ['with members that go deep', { own: deep }],
    ['with members of nothing', { choices: [{ ...choice, logprobs: null }], system_fingerprint: null }],
    [
      'with unknown members at every depth',
      {
        choices: [
          { ...choice, own: { a: 1 }, logprobs: { content: [{ ...token, own: [2] }], own: { b: null } } },
        ],
      },
    ],
    [
      'with members of the wrong kind',
      { created: '5', choices: [{ ...choice, logprobs: 'none', index: '0' }] },
    ],
    [
      'with calls of tools',
      { choices: [{ ...choice, message: { tool_calls: [{ id: 'x', function: {} }] } }] },
    ],
  ])('%s is identical when it is repeated', async (_, more) => {
    const upstream = await startScriptedUpstream();
    const behind = await startBehind(upstream.baseUrl);
    try {
      upstream.answer('/chat/completions', json(completion('hi', more)));
      const headers = { ...bearer(behind.apiKey).headers, 'idempotency-key': newName() };
      const ask = () => behind.postJson('/chat/completions', question, { headers });
      const first = await ask();
      const body = await first.text();
      const again = await ask();
      expect([first.status, isReplay(first), isReplay(again)]).toEqual([200, false, true]);
      expect(await again.text()).toBe(body);
      expect(upstream.requests.length).toBe(1);
    } finally {
      await behind.close();
      await upstream.stop();
    }
  });
});
