import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { ResponseParamsSchema } from '../../../gen/parley/responses/v1/responses_pb.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { completion } from '../../support/chat-answers.ts';
import { errorOf, startParley } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
const logged: object[] = [];
const note = (fields: object) => logged.push(fields);
const parley = await startBehind(upstream.baseUrl, { log: { info: note, warn: note, error: note } });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const hello = { model: 'served', input: 'hello' };
const post = (body: object) => parley.postJson('/responses', body);

/** The body that reaches the upstream, without the members of every chat. */
async function sent(body: object) {
  upstream.answer('/chat/completions', json(completion()));
  const response = await post({ ...hello, ...body });
  expect(response.status, await response.clone().text()).toBe(200);
  const { model, stream, max_tokens: limit, ...others } = upstream.requests.at(-1)?.json ?? {};
  expect({ model, stream }).toEqual({ model: 'upstream-model', stream: false });
  return { limit, ...others };
}

describe('POST /responses', () => {
  it('becomes a chat with the parameters of a chat', async () => {
    const schema = { type: 'object', properties: { x: { type: ['string', 'null'] } } };
    const parameters = {
      temperature: 0.5,
      top_p: 0.9,
      top_logprobs: 2,
      user: 'u',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      parallel_tool_calls: false,
    };
    const body = {
      ...parameters,
      max_output_tokens: 7,
      reasoning: { effort: 'low', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'x', schema, strict: true }, verbosity: 'low' },
      tools: [{ type: 'function', name: 'f', description: 'd', parameters: schema, strict: false }],
      tool_choice: { type: 'function', name: 'f' },
      instructions: 'Be brief.',
      seed: 12_345_678_901_234_567_890n,
    };
    const text = JSON.stringify(body, (_, value: unknown) =>
      typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value,
    );
    upstream.answer('/chat/completions', json(completion()));
    const init = { method: 'POST', body: `{"model":"served","input":"hello",${text.slice(1)}` };
    expect((await parley.call('/responses', init)).status).toBe(200);
    const request = upstream.requests.at(-1);
    expect(request?.json).toEqual({
      model: 'upstream-model',
      stream: false,
      max_tokens: 7,
      ...parameters,
      logprobs: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'hello' },
      ],
      reasoning_effort: 'low',
      verbosity: 'low',
      seed: 12_345_678_901_234_567_000,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
      tools: [
        { type: 'function', function: { name: 'f', description: 'd', parameters: schema, strict: false } },
      ],
      tool_choice: { type: 'function', function: { name: 'f' } },
    });
    expect(request?.body.toString()).toContain('"seed":12345678901234567890');
  });

  it('does not forward nulls, or members that a chat has no form for', async () => {
    const { limit, ...others } = await sent({
      store: true,
      truncation: 'auto',
      include: ['reasoning.encrypted_content'],
      metadata: { a: 'b' },
      stream_options: { include_obfuscation: false },
      max_tool_calls: 3,
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
      moderation: { model: 'omni-moderation-latest' },
      access_programs: {},
      prompt_cache_options: {},
      prompt_cache_retention: '24h',
      image: {},
      client_metadata: { 'x-codex-installation-id': '0a1b' },
      n: 4,
      n_cmpl: 4,
      N: 4,
      previous_response_id: null,
      conversation: null,
      background: false,
      prompt: null,
      tools: [],
      temperature: null,
      instructions: null,
      text: { format: { type: 'text' } },
      max_output_tokens: null,
      reasoning: null,
      tool_choice: null,
    });
    expect(limit).toBe(4096);
    expect(others).toEqual({ messages: [{ role: 'user', content: 'hello' }] });
  });

  it('knows all parameters of the newest SDK', () => {
    const path = '../../node_modules/openai/resources/responses/responses.d.ts';
    const types = readFileSync(new URL(path, import.meta.url), 'utf8');
    const [, members = ''] = /interface ResponseCreateParamsBase \{(.*?)\n\}/s.exec(types) ?? [];
    const names = Array.from(members.matchAll(/^ {4}(\w+)\??:/gm), ([, name]) => name);
    expect(names).toContain('input');
    const known = ['stream', ...ResponseParamsSchema.fields.map(({ jsonName }) => jsonName)];
    expect(names.filter((name = '') => !known.includes(name))).toEqual([]);
  });

  describe('with the tools of an agent', () => {
    const functionNamed = (name: string) => ({ type: 'function', name, parameters: { type: 'object' } });
    const tools = [
      functionNamed('shell'),
      {
        type: 'namespace',
        name: 'files',
        description: 'Files',
        tools: [functionNamed('read'), functionNamed('shell')],
      },
      { type: 'web_search', external_web_access: false },
      { type: 'local_shell' },
    ];
    const called = (name: string) => ({
      id: 'call_1',
      type: 'function',
      function: { name, arguments: '{}' },
    });

    it('offers the functions of a namespace, and names it in their calls', async () => {
      const answer = (name: string) =>
        json({
          ...completion(),
          choices: [
            {
              index: 0,
              finish_reason: 'tool_calls',
              message: { role: 'assistant', content: null, tool_calls: [called(name)] },
            },
          ],
        });
      for (const [name, own] of [
        ['shell', { name: 'shell' }],
        ['read', { name: 'read', namespace: 'files' }],
        ['files__shell', { name: 'shell', namespace: 'files' }],
      ] as const) {
        upstream.answer('/chat/completions', answer(name));
        const response = await post({ ...hello, tools, tool_choice: 'auto' });
        const { output, metadata } = (await response.json()) as { output: object[]; metadata: object };
        const [call] = output;
        expect(call).toMatchObject({ type: 'function_call', call_id: 'call_1', ...own });
        if (name === 'shell') expect(call).not.toHaveProperty('namespace');
        expect(metadata).toEqual({ parley_dropped_tools: 'web_search, local_shell' });
        const requestId = response.headers.get('x-request-id');
        expect(logged).toContainEqual({ requestId, tools: 'web_search, local_shell' });
      }
      const sent = upstream.requests.at(-1)?.json as { tools: { function: { name: string } }[] };
      expect(sent.tools.map((tool) => tool.function.name)).toEqual(['shell', 'read', 'files__shell']);
    });

    it('names the namespace in a stream, too', async () => {
      const delta = { role: 'assistant', tool_calls: [{ index: 0, ...called('read') }] };
      const choice = (facts: object) => ({ choices: [{ index: 0, delta: {}, ...facts }] });
      upstream.answer(
        '/chat/completions',
        events([choice({ delta }), choice({ finish_reason: 'tool_calls' })]),
      );
      const response = await post({ ...hello, tools, stream: true });
      const text = await response.text();
      const datas = text.split('\n').filter((line) => line.startsWith('data: {'));
      const items = datas.flatMap((line) => {
        const { item } = JSON.parse(line.slice(6)) as { item?: { type: string } };
        return item?.type === 'function_call' ? [item] : [];
      });
      expect(items).toHaveLength(2);
      for (const item of items) expect(item).toMatchObject({ name: 'read', namespace: 'files' });
      expect(text).toContain('"parley_dropped_tools":"web_search, local_shell"');
    });

    it('sends no choice among tools that are all dropped', async () => {
      const request = await sent({
        tools: [{ type: 'web_search' }],
        tool_choice: 'auto',
        parallel_tool_calls: true,
      });
      for (const name of ['tools', 'tool_choice', 'parallel_tool_calls'])
        expect(request).not.toHaveProperty(name);
    });

    it('takes back what such a turn had', async () => {
      const { messages } = await sent({
        tools,
        input: [
          { role: 'user', content: 'List the files.' },
          {
            type: 'web_search_call',
            id: 'ws_1',
            status: 'completed',
            action: { type: 'search', query: 'ls' },
          },
          { type: 'compaction', encrypted_content: 'x' },
          { type: 'reasoning', summary: [] },
          {
            type: 'local_shell_call',
            call_id: 'a',
            action: { type: 'exec', command: ['ls'] },
            status: 'completed',
          },
          { type: 'local_shell_call_output', call_id: 'a', output: 'README.md' },
          { type: 'function_call', call_id: 'b', name: 'shell', namespace: 'files', arguments: '{}' },
          { type: 'function_call_output', call_id: 'b', output: 'none' },
        ],
      });
      expect(messages).toMatchObject([
        { role: 'user', content: 'List the files.' },
        {
          role: 'assistant',
          tool_calls: [
            { id: 'a', function: { name: 'local_shell', arguments: expect.stringContaining('"ls"') } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'README.md' },
        { role: 'assistant', tool_calls: [{ id: 'b', function: { name: 'files__shell' } }] },
        { role: 'tool', tool_call_id: 'b', content: 'none' },
      ]);
    });
  });

  it('puts images of outputs into a message of the user, as servers take only text there', async () => {
    const image_url = 'data:image/png;base64,AA==';
    const output = [
      { type: 'input_text', text: 'seen' },
      { type: 'input_image', image_url },
    ];
    const { messages } = await sent({
      input: [
        { role: 'user', content: 'Look.' },
        { type: 'function_call', call_id: 'a', name: 'view_image', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'view_image', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output },
        { type: 'function_call_output', call_id: 'b', output: 'none' },
        { role: 'user', content: 'And?' },
      ],
    });
    expect(messages.slice(2)).toEqual([
      {
        role: 'tool',
        tool_call_id: 'a',
        content: 'seen\nThe images and documents of this output follow in the next message.',
      },
      { role: 'tool', tool_call_id: 'b', content: 'none' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From the output of the call a:' },
          { type: 'image_url', image_url: { url: image_url } },
        ],
      },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('puts an output behind its call, before what a person said meanwhile', async () => {
    const call = (call_id: string) => ({ type: 'function_call', call_id, name: 'f', arguments: '{}' });
    const output = (call_id: string) => ({ type: 'function_call_output', call_id, output: call_id });
    const input = [
      { role: 'user', content: 'Go.' },
      call('a'),
      call('b'),
      output('a'),
      { role: 'user', content: 'Wait.' },
    ];
    const { messages } = await sent({ input: [...input, output('b'), output('unknown')] });
    expect(messages).toMatchObject([
      { content: 'Go.' },
      { tool_calls: [{ id: 'a' }, { id: 'b' }] },
      { role: 'tool', tool_call_id: 'a' },
      { role: 'tool', tool_call_id: 'b' },
      { content: 'Wait.' },
      { role: 'tool', tool_call_id: 'unknown' },
    ]);
  });

  it('translates items and their parts', async () => {
    const image_url = 'data:image/png;base64,AA==';
    const { messages } = await sent({
      input: [
        { role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look:' },
            { type: 'input_image', image_url, detail: 'low', file_id: null },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
            { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
          ],
        },
        { type: 'function_call', id: 'fc_1', call_id: 'a', name: 'f', arguments: '{}', status: 'completed' },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Calling.', annotations: [], logprobs: [] }],
        },
        { type: 'function_call_output', call_id: 'a', output: [{ type: 'input_text', text: 'done' }] },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
        { type: 'function_call', call_id: 'b', name: 'f', arguments: '{"x":1}' },
        { type: 'function_call_output', call_id: 'b', output: 'sun' },
        { type: 'function_call', call_id: 'c', name: 'f', arguments: '{"x":2}' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'x' },
        { type: 'function_call', call_id: 'd', name: 'f', arguments: '{"x":3}' },
      ],
    });
    const called = (id: string, given: string) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: given },
    });
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look:' },
          { type: 'image_url', image_url: { url: image_url, detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
          { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
        ],
      },
      { role: 'assistant', content: 'Calling.', tool_calls: [called('a', '{}')] },
      { role: 'tool', tool_call_id: 'a', content: 'done' },
      {
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'No.' }],
        tool_calls: [called('b', '{"x":1}')],
      },
      { role: 'tool', tool_call_id: 'b', content: 'sun' },
      { role: 'assistant', content: null, tool_calls: [called('c', '{"x":2}'), called('d', '{"x":3}')] },
    ]);
  });

  it('translates custom tools, their calls and outputs', async () => {
    const grammar = { syntax: 'lark', definition: 'start: "x"' };
    const { tools, tool_choice, messages } = await sent({
      tools: [
        { type: 'custom', name: 'sql', description: 'd', format: { type: 'grammar', ...grammar } },
        { type: 'custom', name: 'code', format: { type: 'text' } },
      ],
      tool_choice: { type: 'custom', name: 'sql' },
      input: [
        { role: 'user', content: 'go' },
        { type: 'custom_tool_call', id: 'ctc_1', call_id: 'a', name: 'sql', input: 'select 1' },
        { type: 'custom_tool_call_output', call_id: 'a', output: '1' },
      ],
    });
    expect(tools).toEqual([
      { type: 'custom', custom: { name: 'sql', description: 'd', format: { type: 'grammar', grammar } } },
      { type: 'custom', custom: { name: 'code', format: { type: 'text' } } },
    ]);
    expect(tool_choice).toEqual({ type: 'custom', custom: { name: 'sql' } });
    expect(messages).toEqual([
      { role: 'user', content: 'go' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'sql', input: 'select 1' } }],
      },
      { role: 'tool', content: '1', tool_call_id: 'a' },
    ]);
  });

  it('translates the choice among allowed tools', async () => {
    const { tool_choice } = await sent({
      tools: [{ type: 'function', name: 'f', parameters: {} }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'f' }] },
    });
    expect(tool_choice).toEqual({
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'f' } }] },
    });
  });

  it.each<[string, object, string, string]>([
    ['input of a wrong kind', { input: 7 }, 'invalid_input', 'input'],
    [
      'a part of a wrong kind',
      { input: [{ role: 'user', content: [7] }] },
      'invalid_input',
      'input[0].content[0]',
    ],
    ['no content', { input: [{ role: 'user' }] }, 'invalid_input', 'input[0].content'],
    [
      'an image by its id',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file-1' }] }] },
      ...(['invalid_input', 'input[0].content[0]'] as const),
    ],
    [
      'a call without an id',
      { input: [{ type: 'function_call', name: 'f' }] },
      'invalid_input',
      'input[0].call_id',
    ],
    [
      'an output without its text',
      { input: [{ type: 'function_call_output', call_id: 'a' }] },
      'invalid_input',
      'input[0].output',
    ],
    [
      'nothing but a search of before',
      { input: [{ type: 'web_search_call', id: 'ws_1' }] },
      'invalid_input',
      'input',
    ],
    ['an item of no known form', { input: [{ type: 'something' }] }, 'invalid_input', 'input[0].type'],
    [
      'the choice of a built-in tool',
      { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      'invalid_parameter',
      'tool_choice',
    ],
    [
      'a choice that must take a tool where only built-in ones are',
      { tools: [{ type: 'web_search' }], tool_choice: 'required' },
      'invalid_parameter',
      'tool_choice',
    ],
    [
      'too many tools of one name',
      {
        tools: [
          ...['x', 'a__x', ...Array.from({ length: 9 }, (_, n) => `a__x_${n + 2}`)].map((name) => ({
            type: 'function',
            name,
          })),
          { type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'x' }] },
        ],
      },
      'invalid_parameter',
      'tools',
    ],
    ['a tool without a name', { tools: [{ type: 'function' }] }, 'invalid_parameter', 'tools[0].name'],
    ['temperature in words', { temperature: 'hot' }, 'invalid_parameter', 'temperature'],
    ['stream in words', { stream: 'yes' }, 'invalid_parameter', 'stream'],
    ['a conversation', { conversation: { id: 'conv_1' } }, 'invalid_parameter', 'conversation'],
  ])('refuses %s', async (_, body, code, param) => {
    const response = await post({ ...hello, ...body });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code, param });
  });

  it('says in a sentence what to do about a stored item', async () => {
    const response = await post({ ...hello, input: [{ type: 'item_reference', id: 'msg_1' }] });
    expect(await errorOf(response)).toMatchObject({
      message:
        '`input[0]` refers to a stored item, but this server stores none. Send the item itself, as some clients do with `store: false`.',
    });
  });

  it('names the input if it is longer than the model accepts', async () => {
    await using closing = new AsyncDisposableStack();
    const builtin = await startParley();
    closing.defer(() => builtin.close());
    const response = await builtin.postJson('/responses', { model: 'eliza', input: 'word '.repeat(5000) });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ code: 'context_length_exceeded', param: 'input' });
  });
});
