/** Reports of more tokens than a model can have used are bounded on every path to a chat, each side apart. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Log } from '../../../src/core/values/log.ts';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { chunk, completion } from '../../support/chat-answers.ts';
import { bearer, type Parley, startParley, TestClock } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

type Json = Record<string, unknown>;

const contextTokens = 8_192;
const model = { ...servedModel, contextTokens };
const warnings: Json[] = [];
const ignore = () => undefined;
const log: Log = { info: ignore, error: ignore, warn: (facts) => warnings.push(facts as Json) };

const clock = new TestClock();
/** The next report of a model is logged. */
const passMinute = () => {
  clock.nowMs += 60_000;
};

const upstream = await startScriptedUpstream();
const near = await startBehind(upstream.baseUrl, { log, clock, models: [model] });
// A remote with a larger context passes on the report of its upstream.
const free = { input: 0, output: 0 };
const far = await startBehind(upstream.baseUrl, {
  models: [{ ...model, contextTokens: 10_000_000, price: free }],
});
const distant = await startDistant(far);
afterAll(async () => {
  for (const parley of [near, distant, far]) await parley.close();
  await upstream.stop();
});

async function startDistant({ baseUrl, apiKey }: Parley): Promise<Parley> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-distant-'));
  const [file, apiKeyFile] = [join(folder, 'parley.yaml'), join(folder, 'key')];
  writeFileSync(apiKeyFile, apiKey);
  const remote = { kind: 'remote', baseUrl, apiKeyFile };
  writeFileSync(file, JSON.stringify({ engines: { upstream: remote }, models: [model] }));
  try {
    return await startParley({ log, clock, file });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const messages = [{ role: 'user', content: 'Hello there.' }];
const requests: Readonly<Record<string, { readonly path: string; readonly body: Json }>> = {
  chat: { path: '/chat/completions', body: { messages, max_tokens: 5 } },
  response: { path: '/responses', body: { input: 'Hello there.', max_output_tokens: 5 } },
  completion: { path: '/completions', body: { prompt: 'Hello there.', max_tokens: 5 } },
};

/** Answers with some words and a report. */
function reporting(words: string, [prompt, tokens, apart = 0]: readonly number[]): void {
  upstream.answer('/chat/completions', (exchange) => {
    const { stream, n = 1 } = exchange.request.json;
    const usage = {
      prompt_tokens: prompt,
      completion_tokens: tokens,
      total_tokens: (prompt ?? 0) + (tokens ?? 0) + apart,
    };
    const indexes = Array.from({ length: n }, (_, index) => index);
    const end = { finish_reason: 'length' };
    if (stream) {
      const chunks = indexes.map((index) => chunk({ content: words }, { index, ...end }));
      return events([...chunks, { ...chunk({}), choices: [], usage }])(exchange);
    }
    const message = { role: 'assistant', content: words };
    return json(completion('', { choices: indexes.map((index) => ({ index, message, ...end })), usage }))(
      exchange,
    );
  });
}

async function ask(parley: Parley, way: string, more: Json) {
  const { path, body } = requests[way] ?? { path: '', body: {} };
  const key = await parley.newKey({ credits: '1' });
  const response = await parley.postJson(path, { model: 'served', ...body, ...more }, bearer(key));
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return { text, record: await parley.recordOf(response) };
}

beforeEach(() => {
  warnings.splice(0);
  passMinute();
});

describe.each([
  ['an upstream', near],
  ['a remote Parley', distant],
])('a report of %s', (_, parley) => {
  const ways = Object.keys(requests).flatMap((way) => [
    { way, stream: false },
    { way, stream: true },
  ]);

  it.each(ways)(
    'above every context counts as the context: $way, stream $stream',
    async ({ way, stream }) => {
      reporting('one two three', [9_000_000, 3]);
      const { record, text } = await ask(parley, way, { stream });
      expect(record.tokens).toMatchObject({
        promptTokens: contextTokens,
        completionTokens: 3,
        source: 'estimated',
      });
      expect(record.cost).toBe(1_000n * BigInt(contextTokens + 3));
      expect(text).not.toContain('9000000');
      expect(warnings).toMatchObject([{ requestId: record.id, model: 'served' }]);
    },
  );

  it('within the context is billed', async () => {
    reporting('one two three', [contextTokens, 5]);
    const { record } = await ask(parley, 'chat', {});
    expect(record.tokens).toMatchObject({ promptTokens: contextTokens, source: 'reported' });
    expect(warnings).toEqual([]);
  });
});

describe('an answer over its limit', () => {
  it.each([
    { n: 1, stream: false },
    { n: 1, stream: true },
    { n: 4, stream: false },
    { n: 4, stream: true },
  ])('counts as the limit, for all choices together: $n, stream $stream', async ({ n, stream }) => {
    reporting('one two three', [9, 5 * n]);
    const most = await ask(near, 'chat', { n, stream });
    expect(most.record.tokens).toMatchObject({ completionTokens: 5 * n, source: 'reported' });
    expect(warnings).toEqual([]);
    for (const over of [
      [9, 5 * n + 1],
      [9, 5, 5 * n],
    ]) {
      passMinute();
      reporting('one two three', over);
      const { record } = await ask(near, 'chat', { n, stream });
      expect(record.tokens).toMatchObject({ promptTokens: 9, completionTokens: 5 * n, source: 'estimated' });
    }
    expect(warnings).toHaveLength(2);
  });

  it('is billed as reported if the model did write so much', async () => {
    reporting('one two three four five six seven', [9, 7]);
    expect((await ask(near, 'chat', {})).record.tokens).toMatchObject({
      completionTokens: 7,
      source: 'reported',
    });
    reporting('one two three four five six seven', [9, 8]);
    expect((await ask(near, 'chat', {})).record.tokens).toMatchObject({
      completionTokens: 7,
      source: 'estimated',
    });
  });
});

it('a prompt of images that is one token too long is as dear as the longest', async () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const costs: (bigint | undefined)[] = [];
  for (const prompt of [contextTokens, contextTokens + 1]) {
    reporting('one two three', [prompt, 3]);
    const { record } = await ask(near, 'chat', { messages: [{ role: 'user', content: [image] }] });
    costs.push(record.cost);
  }
  expect(costs).toEqual([8_195_000n, 8_195_000n]);
});

it('impossible reports are logged once a minute for each model', async () => {
  reporting('one two three', [9_000_000, 3]);
  for (let n = 0; n < 3; n++) await ask(near, 'chat', {});
  expect(warnings).toMatchObject([{ unlogged: 0 }]);
  passMinute();
  await ask(near, 'chat', {});
  expect(warnings).toMatchObject([{ unlogged: 0 }, { model: 'served', unlogged: 2 }]);
});
