import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { startBehind } from '../../support/behind-upstream.ts';
import { chunks, completion, reported } from '../../support/chat-answers.ts';
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

  it('refuses several prompts before the upstream is called, and says what to do', async () => {
    const n = upstream.requests.length;
    const refused = client.completions.create({ model: 'served', prompt: ['One', 'Two'] });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      code: 'invalid_input',
      param: 'prompt',
      message: expect.stringContaining('Send one text, and a request for each further text.'),
    });
    expect(upstream.requests.length).toBe(n);
  });

  it.each([
    ['a refusal', { refusal: 'No.' }, 'No.'],
    ['what is said in audio', { audio: { data: 'AAAA', transcript: 'Hello.' } }, 'Hello.'],
    [
      'the address of an image',
      { images: [{ image_url: { url: 'https://example.com/a.png' } }] },
      '![image](https://example.com/a.png)',
    ],
  ])('has %s as its text', async (_, message, text) => {
    const choices = [
      { index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' },
    ];
    upstream.answer(path, json(completion('', { choices })));
    const answer = await client.completions.create({ model: 'served', prompt: 'Go on' });
    expect(answer.choices).toMatchObject([{ text }]);
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
});
