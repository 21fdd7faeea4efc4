import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { startBehind } from '../../support/behind-upstream.ts';
import { chunks, completion, reported } from '../../support/chat-answers.ts';
import { bearer } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl);
const client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.apiKey, maxRetries: 0 });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

describe('POST /completions', () => {
  it('becomes a chat with the parameters of a chat, and answers in the legacy form', async () => {
    upstream.answer(path, json(completion('hello there')));
    const shared = {
      temperature: 0.5,
      top_p: 0.9,
      n: 1,
      stop: ['x'],
      seed: 5,
      user: 'u',
      frequency_penalty: 1,
      presence_penalty: -1,
      logit_bias: { '5': 2 },
    };
    const body = {
      model: 'served',
      prompt: ['Go on'],
      max_tokens: 7,
      best_of: 1,
      echo: false,
      suffix: null,
      logprobs: null,
    };
    const answer = await client.completions.create({ ...body, ...shared });
    expect(answer).toMatchObject({ object: 'text_completion', model: 'served', usage: reported });
    expect(answer.choices).toEqual([
      { text: 'hello there', index: 0, logprobs: null, finish_reason: 'stop' },
    ]);
    expect(upstream.requests.at(-1)?.json).toEqual({
      ...shared,
      model: 'upstream-model',
      stream: false,
      max_tokens: 7,
      messages: [{ role: 'user', content: 'Go on' }],
    });
  });

  it('refuses several prompts if the other fields, times the prompts, are too large', async () => {
    const ask = (prompts: number) =>
      parley.call('/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${parley.apiKey}` },
        body: JSON.stringify({
          model: 'served',
          prompt: Array.from({ length: prompts }, () => 'Go on'),
          max_tokens: 1,
          vendor: 'x'.repeat(1_000_000),
        }),
      });
    upstream.answer(path, json(completion('hello there')));
    expect((await ask(2)).status).toBe(200);
    const refused = await ask(30);
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: 'invalid_input', param: 'prompt' } });
  });

  it('holds credits for the fields that are sent with each of several prompts', async () => {
    const n = upstream.requests.length;
    upstream.answer(path, json(completion('hello there')));
    const body = {
      model: 'served',
      prompt: Array.from({ length: 20 }, () => 'Go on'),
      max_tokens: 1,
      // 3,000 tokens, which the model reads twenty times.
      vendor: 'one two three '.repeat(1_000),
    };
    const ask = async (credits: string) =>
      (await parley.postJson('/completions', body, bearer(await parley.newKey({ credits })))).status;
    expect(await ask('0.05')).toBe(402);
    expect(upstream.requests.length).toBe(n);
    expect(await ask('0.1')).toBe(200);
  });

  it('streams pieces of text, then [DONE]', async () => {
    upstream.answer(path, events(chunks('hel', 'lo')));
    const stream = await client.completions.create({ model: 'served', prompt: 'Go on', stream: true });
    const pieces = [];
    for await (const { choices, usage } of stream) pieces.push({ ...choices[0], usage });
    const piece = { index: 0, logprobs: null, finish_reason: null, usage: undefined };
    expect(pieces).toEqual([
      { ...piece, text: 'hel' },
      { ...piece, text: 'lo' },
      { ...piece, text: '', finish_reason: 'stop', usage: reported },
    ]);
  });

  it('has usage on every piece if requested, null on all but the last', async () => {
    upstream.answer(path, events(chunks('hel', 'lo')));
    const stream = await client.completions.create({
      model: 'served',
      prompt: 'Go on',
      stream: true,
      stream_options: { include_usage: true },
    });
    const told = [];
    for await (const { choices, usage } of stream) told.push([choices.length, usage]);
    expect(told).toEqual([...[1, 1, 1].map((choices) => [choices, null]), [0, reported]]);
  });

  it('sends each of several prompts as a chat, and counts all if one has no report', async () => {
    const n = upstream.requests.length;
    const two = [1, 0].map((index) => ({ index, message: { content: 'hi' }, finish_reason: 'stop' }));
    upstream.answer(
      path,
      json(completion('', { choices: two })),
      json(completion('', { choices: two, usage: null })),
    );
    const prompt = ['One', 'Two'];
    const { choices, usage } = await client.completions.create({
      model: 'served',
      prompt,
      n: 2,
      max_tokens: 5,
    });
    expect(choices.map(({ index, text }) => [index, text])).toEqual(
      [1, 0, 3, 2].map((index) => [index, 'hi']),
    );
    expect(usage).toMatchObject({ completion_tokens: 4, total_tokens: (usage?.prompt_tokens ?? 0) + 4 });
    expect(upstream.requests.slice(n).map(({ json }) => json)).toMatchObject(
      prompt.map((content) => ({ messages: [{ role: 'user', content }], n: 2, max_tokens: 5 })),
    );
  });

  it('throws if the upstream leaves out the answer to the second of several prompts', async () => {
    upstream.answer(path, events(chunks('hel', 'lo')), events([]));
    const stream = await client.completions.create({ model: 'served', prompt: ['a', 'b'], stream: true });
    const read = async () => {
      for await (const { choices } of stream) expect(choices[0]?.index).toBe(0);
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error' });
  });

  it('throws if the upstream breaks off', async () => {
    upstream.answer(path, events(chunks('hel').slice(0, 2), { done: false }));
    const stream = await client.completions.create({ model: 'served', prompt: 'Go on', stream: true });
    const read = async () => {
      for await (const { choices } of stream) expect(choices[0]?.text).toBe('hel');
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error' });
  });
});
