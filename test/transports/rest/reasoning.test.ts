/** Reasoning that a model needs again in the next turn, over APIs whose clients send whole answers back. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { chunk, completion, reported } from '../../support/chat-answers.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl, {
  engine: { models: { served: 'upstream-model', other: 'other-model' } },
  models: [servedModel, { ...servedModel, id: 'other' }],
});
const stranger = await parley.newKey({ credits: '1' });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

interface Turn {
  readonly model?: string;
  readonly apiKey?: string;
  readonly change?: (sealed: string) => string;
}

type Answer = Record<string, unknown>;

const called = (id: string, more: Answer = {}) => ({
  id,
  type: 'function',
  function: { name: 'look', arguments: '{}' },
  ...more,
});
const thought = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }], closed: true });
const signed = { extra_content: { google: { thought_signature: 'c2lnbmVk' } } };

/** Messages of upstreams, and whether they are sent in pieces. */
const manners: readonly (readonly [name: string, message: Answer])[] = [
  ['DeepSeek and Kimi', { content: null, reasoning_content: 'I must look.', tool_calls: [called('a')] }],
  ['empty reasoning', { content: null, reasoning_content: '', tool_calls: [called('a')] }],
  ['Gemini', { content: 'Wait.', tool_calls: [called('a', signed), called('b')] }],
  [
    'OpenRouter',
    {
      content: 'Wait.',
      reasoning: 'I must look.',
      reasoning_details: [
        { type: 'reasoning.text', text: 'I must look.', signature: 'c2ln', index: 0 },
        { type: 'reasoning.encrypted', data: 'ZW5j', index: 1 },
      ],
      tool_calls: [called('a')],
    },
  ],
  [
    'Mistral',
    { content: [thought('I must look.'), { type: 'text', text: 'Wait.' }], tool_calls: [called('a')] },
  ],
];

function plain(message: Answer) {
  const choice = { index: 0, message: { role: 'assistant', ...message }, finish_reason: 'tool_calls' };
  return json(completion('', { choices: [choice] }));
}

const halves = (value: unknown): unknown[] =>
  typeof value === 'string' && value !== '' ? [value.slice(0, 3), value.slice(3)] : [value];

function contentPieces(content: unknown): unknown[] {
  if (!Array.isArray(content)) return content ? halves(content) : [];
  return content.flatMap(({ type, text, thinking }): unknown[] =>
    type === 'text'
      ? halves(text).map((half) => [{ type, text: half }])
      : halves(thinking[0].text).map((half) => [thought(String(half))]),
  );
}

/** Each text in two pieces, as servers stream it. */
function streamed({ tool_calls: calls, content, ...reasoning }: Answer) {
  const [details, ...more] = (reasoning['reasoning_details'] ?? []) as { text: string; signature: string }[];
  const { signature, ...begun } = details ?? { signature: '' };
  const deltas = Object.entries(reasoning).flatMap(([name, value]) => {
    if (name !== 'reasoning_details') return halves(value).map((half) => ({ [name]: half }));
    const texts = halves(details?.text).map((text) => ({ [name]: [{ ...begun, text }] }));
    return [...texts, { [name]: [{ ...begun, text: '', signature }] }, { [name]: more }];
  });
  const indexed = (calls as Answer[]).map((call, index) => chunk({ tool_calls: [{ index, ...call }] }));
  return events([
    ...deltas.map((delta) => chunk({ role: 'assistant', content: null, ...delta })),
    ...contentPieces(content).map((piece) => chunk({ content: piece })),
    ...indexed,
    chunk({}, { finish_reason: 'tool_calls' }),
    { ...chunk({}), choices: [], usage: reported },
  ]);
}

/** The message of the assistant in the upstream's second request. */
function given(): Answer {
  const messages: Answer[] = upstream.requests.at(-1)?.json.messages;
  return messages.find(({ role }) => role === 'assistant') ?? {};
}

const messagesAnswer = async (stream: boolean, { model = 'served' }: Turn = {}) => {
  const client = new Anthropic({ baseURL: parley.baseUrl.replace(/\/v1$/, ''), apiKey: parley.apiKey });
  const tools = [{ name: 'look', input_schema: { type: 'object' as const } }];
  const body = { model, max_tokens: 100, tools, messages: [{ role: 'user' as const, content: 'go' }] };
  const message = stream
    ? await client.messages.stream(body).finalMessage()
    : await client.messages.create(body);
  return message.content;
};

async function returnToMessages(content: readonly object[], { model = 'served', apiKey, change }: Turn) {
  const changed = content.map((block) =>
    Object.fromEntries(
      Object.entries(block).map(([name, value]) => [
        name,
        change && (name === 'signature' || name === 'data') ? change(String(value)) : value,
      ]),
    ),
  );
  upstream.answer('/chat/completions', json(completion()));
  const results = content.flatMap((block) =>
    'id' in block ? [{ type: 'tool_result', tool_use_id: block.id, content: 'seen' }] : [],
  );
  const messages = [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: changed },
    { role: 'user', content: results },
  ];
  const init = { headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` } };
  const response = await parley.postJson('/messages', { model, max_tokens: 100, messages }, init);
  expect(response.status, await response.clone().text()).toBe(200);
}

const responsesAnswer = async (stream: boolean) => {
  const client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.apiKey });
  const tools = [{ type: 'function' as const, name: 'look', parameters: {}, strict: false }];
  const body = { model: 'served', tools, input: 'go' };
  if (!stream) return (await client.responses.create(body)).output;
  return (await client.responses.stream(body).finalResponse()).output;
};

async function returnToResponses(items: readonly object[], { model = 'served', apiKey, change }: Turn) {
  // As Codex does, which keeps no text of reasoning.
  const kept = items.map((item) => {
    if (!('encrypted_content' in item)) return item;
    expect(item).toMatchObject({ type: 'reasoning', summary: [], encrypted_content: expect.any(String) });
    const sealed = String(item.encrypted_content);
    return { type: 'reasoning', summary: [], content: null, encrypted_content: change?.(sealed) ?? sealed };
  });
  const outputs = items.flatMap((item) =>
    'call_id' in item ? [{ type: 'function_call_output', call_id: item.call_id, output: 'seen' }] : [],
  );
  upstream.answer('/chat/completions', json(completion()));
  const input = [{ role: 'user', content: 'go' }, ...kept, ...outputs];
  const init = { headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` } };
  const response = await parley.postJson('/responses', { model, input }, init);
  expect(response.status, await response.clone().text()).toBe(200);
}

const apis = [
  ['/messages', messagesAnswer, returnToMessages],
  ['/responses', responsesAnswer, returnToResponses],
] as const;

describe.each(apis)('POST %s', (_path, ask, giveBack) => {
  describe.each([
    ['plain', false],
    ['streamed', true],
  ])('after a %s answer', (_form, stream) => {
    it.each(manners)('gives the model its reasoning back: %s', async (_name, message) => {
      upstream.answer('/chat/completions', stream ? streamed(message) : plain(message));
      await giveBack(await ask(stream), {});
      expect(given()).toEqual({ role: 'assistant', ...message });
    });
  });

  it.each<[string, () => Turn]>([
    [
      'forged',
      () => ({ change: (sealed) => sealed.slice(0, -4) + sealed.slice(-4).split('').reverse().join('') }),
    ],
    ['foreign', () => ({ change: () => 'EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk' })],
    ['too long', () => ({ change: (sealed) => sealed.padEnd(1_400_000, 'A') })],
    ['of another model', () => ({ model: 'other' })],
    ['of another account', () => ({ apiKey: stranger })],
  ])('drops reasoning that is %s', async (_name, turn) => {
    const message = { content: null, reasoning_content: 'I must look.', tool_calls: [called('a', signed)] };
    upstream.answer('/chat/completions', plain(message));
    await giveBack(await ask(false), turn());
    expect(given()).toEqual({ role: 'assistant', content: null, tool_calls: [called('a')] });
  });

  it('gives out no more than its bound', async () => {
    const message = { content: null, reasoning_content: 'x'.repeat(1_048_577), tool_calls: [called('a')] };
    upstream.answer('/chat/completions', plain(message));
    const answer = await ask(false);
    expect(JSON.stringify(answer).length).toBeLessThan(1_100_000);
  });
});

it('a client of a chat sends thinking back to Mistral as it came', async () => {
  const message = { content: [thought('I must look.'), { type: 'text', text: 'Wait.' }] };
  upstream.answer('/chat/completions', plain(message));
  const client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.apiKey });
  const body = { model: 'served', messages: [{ role: 'user' as const, content: 'go' }] };
  const { choices } = await client.chat.completions.create(body);
  expect(choices[0]?.message.content).toBe('Wait.');
  upstream.answer('/chat/completions', json(completion()));
  const again = { model: 'served', messages: [...body.messages, choices[0]?.message] };
  expect((await parley.postJson('/chat/completions', again)).status).toBe(200);
  expect(given()).toMatchObject(message);
  expect(given()).not.toHaveProperty('reasoning_content');
});
