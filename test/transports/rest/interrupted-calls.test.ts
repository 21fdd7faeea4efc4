/** A person who interrupts an agent leaves calls without an output, which most upstreams refuse. */
import { afterAll, describe, expect, it } from 'vitest';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { completion } from '../../support/chat-answers.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { json } from '../../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl, { models: [servedModel] });
const native = await startBehind(upstream.baseUrl, { engine: { kind: 'anthropic' }, models: [servedModel] });
afterAll(async () => {
  await Promise.all([parley.close(), native.close()]);
  await upstream.stop();
});

const model = 'served';
const note = 'No output: the call was interrupted.';
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} });
const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'seen' });
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'look', arguments: '{}' });
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'seen' });
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (...content: unknown[]) => ({ role: 'assistant', content });

type Json = Record<string, unknown>;

/** The conversation as the upstream gets it: roles, and the calls that are answered with their texts. */
async function sent(path: string, body: Json): Promise<string[]> {
  upstream.answer('/chat/completions', json(completion()));
  const response = await parley.postJson(path, { model, ...body });
  expect(response.status, await response.clone().text()).toBe(200);
  const messages: Json[] = upstream.requests.at(-1)?.json.messages;
  return messages.map(({ role, tool_call_id: id, content }) =>
    role === 'tool' ? `${id}: ${content}` : String(role),
  );
}

describe.each<[string, (items: { readonly of: 'responses' | 'messages' }) => Promise<string[]>, string[]]>([
  [
    'all calls of a turn',
    ({ of }) =>
      of === 'responses'
        ? sent('/responses', { input: [user('go'), call('a'), call('b'), user('stop')] })
        : sent('/messages', {
            max_tokens: 9,
            messages: [user('go'), assistant(use('a'), use('b')), user('stop')],
          }),
    ['user', 'assistant', `a: ${note}`, `b: ${note}`, 'user'],
  ],
  [
    'one of two calls',
    ({ of }) =>
      of === 'responses'
        ? sent('/responses', { input: [user('go'), call('a'), call('b'), output('b'), user('stop')] })
        : sent('/messages', {
            max_tokens: 9,
            messages: [
              user('go'),
              assistant(use('a'), use('b')),
              user([result('b'), { type: 'text', text: 'stop' }]),
            ],
          }),
    ['user', 'assistant', 'b: seen', `a: ${note}`, 'user'],
  ],
  [
    'no call',
    ({ of }) =>
      of === 'responses'
        ? sent('/responses', { input: [user('go'), call('a'), output('a'), user('more')] })
        : sent('/messages', {
            max_tokens: 9,
            messages: [user('go'), assistant(use('a')), user([result('a')])],
          }),
    [],
  ],
  [
    'the last call, which nothing follows',
    ({ of }) =>
      of === 'responses'
        ? sent('/responses', { input: [user('go'), call('a')] })
        : sent('/messages', { max_tokens: 9, messages: [user('go'), assistant(use('a'))] }),
    ['user', 'assistant'],
  ],
])('a conversation that interrupts %s', (_, ask, expected) => {
  it.each(['responses', 'messages'] as const)(
    'reaches the upstream of %s with an output of each call',
    async (of) => {
      const got = await ask({ of });
      if (expected.length > 0) expect(got).toEqual(expected);
      else expect(got.join()).not.toContain(note);
    },
  );
});

it('reaches an upstream of the Messages API with a result of each call', async () => {
  const end = { stop_reason: 'end_turn', usage: { input_tokens: 3, output_tokens: 1 } };
  upstream.answer(
    '/messages',
    json({ id: 'msg_1', type: 'message', content: [{ type: 'text', text: 'ok' }], ...end }),
  );
  const messages = [
    user('go'),
    assistant(use('a'), use('b')),
    user([result('b'), { type: 'text', text: 'stop' }]),
  ];
  expect((await native.postJson('/messages', { model, max_tokens: 9, messages })).status).toBe(200);
  const { content } = upstream.requests.at(-1)?.json.messages.at(-1) ?? {};
  expect(content).toMatchObject([
    { type: 'tool_result', tool_use_id: 'b' },
    { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: note }] },
    { type: 'text', text: 'stop' },
  ]);
});

describe('tools that only another server has, on /messages', () => {
  const search = { type: 'web_search_20250305', name: 'web_search', max_uses: 8 };
  const look = { name: 'look', input_schema: { type: 'object' } };
  const ask = (more: Json) => {
    upstream.answer('/chat/completions', json(completion()));
    return parley.postJson('/messages', { model, max_tokens: 9, messages: [user('go')], ...more });
  };

  it('are dropped, and the answer names them', async () => {
    const response = await ask({ tools: [search, look], tool_choice: { type: 'auto' } });
    expect(await response.json()).toMatchObject({ parley_dropped_tools: 'web_search_20250305' });
    const { tools, tool_choice: choice } = upstream.requests.at(-1)?.json ?? {};
    expect(tools).toMatchObject([{ function: { name: 'look' } }]);
    expect(choice).toBe('auto');
  });

  it.each([
    ['auto', {}],
    ['auto', { disable_parallel_tool_use: true }],
  ])('leave no choice among none: %s', async (type, more) => {
    expect((await ask({ tools: [search], tool_choice: { type, ...more } })).status).toBe(200);
    const { json: got } = upstream.requests.at(-1) ?? {};
    for (const name of ['tools', 'tool_choice', 'parallel_tool_calls']) expect(got).not.toHaveProperty(name);
  });

  it.each([
    [{ type: 'tool', name: 'web_search' }, [search, look]],
    [{ type: 'any' }, [search]],
  ])('are refused by name if they must be called: %j', async (choice, tools) => {
    const response = await ask({ tools, tool_choice: choice });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: {
        code: 'invalid_parameter',
        param: 'tool_choice',
        message: expect.stringContaining('web_search'),
      },
    });
  });

  it('are not named in an answer that dropped none', async () => {
    expect(await (await ask({ tools: [look] })).json()).not.toHaveProperty('parley_dropped_tools');
  });
});
