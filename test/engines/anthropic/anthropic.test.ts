/** The engine for upstreams of the Messages API: what they get, what clients of each API get, and what it costs. */
import { afterAll, describe, expect, it } from 'vitest';
import { servedModel, startBehind, upstreamKey } from '../../support/behind-upstream.ts';
import { readEvents } from '../../support/chat-answers.ts';
import { errorOf } from '../../support/parley.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { eventText, failure, json } from '../../support/upstream-answers.ts';

type Json = Record<string, unknown>;

const upstream = await startScriptedUpstream();
const price = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };
const parley = await startBehind(upstream.baseUrl, {
  engine: { kind: 'anthropic', betas: ['allowed-2026-01-01'] },
  models: [{ ...servedModel, price }],
});
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const usage = {
  input_tokens: 10,
  cache_creation_input_tokens: 200,
  cache_read_input_tokens: 3_000,
  output_tokens: 40,
};
/** In nano-credits. */
const cost = 10n * 3_000n + 200n * 3_750n + 3_000n * 300n + 40n * 15_000n;
const counted = { promptTokens: 3_210, cachedTokens: 3_000, cacheWriteTokens: 200, completionTokens: 40 };

const thinking = { type: 'thinking', thinking: 'I must look.', signature: 'c2lnbmVk' };
const redacted = { type: 'redacted_thinking', data: 'aGlkZGVu' };
const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'sea' } };
const citation = { type: 'char_location', cited_text: 'blue', document_index: 0 };

function message(content: readonly Json[], more: Json = {}): Json {
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'upstream-model' };
  return { ...head, content, stop_reason: 'end_turn', stop_sequence: null, usage, ...more };
}

/** The events of a stream, each text in two pieces, with `ping` between. */
function streamed(content: readonly Json[], end: Json = { stop_reason: 'end_turn', stop_sequence: null }) {
  const blocks = content.flatMap((block, index) => {
    const delta = (piece: Json) => ({ type: 'content_block_delta', index, delta: piece });
    const {
      text,
      thinking: thought,
      input,
      signature,
      citations,
      ...empty
    } = block as Json & { citations?: Json[] };
    const halves = (value: unknown) => [String(value).slice(0, 3), String(value).slice(3)];
    const begun = {
      ...empty,
      ...(text !== undefined && { text: '' }),
      ...(citations && { citations: [] }),
      ...(thought !== undefined && { thinking: '', signature: '' }),
      ...(input !== undefined && { input: {} }),
    };
    return [
      { type: 'content_block_start', index, content_block: begun },
      { type: 'ping' },
      ...(text === undefined ? [] : halves(text).map((half) => delta({ type: 'text_delta', text: half }))),
      ...(citations ?? []).map((one) => delta({ type: 'citations_delta', citation: one })),
      ...(thought === undefined
        ? []
        : halves(thought).map((half) => delta({ type: 'thinking_delta', thinking: half }))),
      ...(signature === undefined ? [] : [delta({ type: 'signature_delta', signature })]),
      ...(input === undefined
        ? []
        : halves(JSON.stringify(input)).map((half) =>
            delta({ type: 'input_json_delta', partial_json: half }),
          )),
      { type: 'content_block_stop', index },
    ];
  });
  const { output_tokens: output, ...prompt } = usage;
  const start = { ...message([]), stop_reason: null, usage: { ...prompt, output_tokens: 1 } };
  return [
    { type: 'message_start', message: start },
    ...blocks,
    { type: 'message_delta', delta: end, usage: { output_tokens: output } },
    { type: 'message_stop' },
  ];
}

const eventsOf = (values: readonly Json[]) =>
  eventText(values.map((value) => `event: ${value['type']}\ndata: ${JSON.stringify(value)}\n\n`));

const asked = { model: 'served', max_tokens: 100, messages: [{ role: 'user', content: 'Look at the sea.' }] };
const post = (path: string, body: Json, headers: Record<string, string> = {}) =>
  parley.postJson(path, body, { headers });
const received = () => upstream.requests.at(-1);

async function messageEvents(response: Response): Promise<Json[]> {
  const text = await response.text();
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []));
}

async function checkCost(response: Response) {
  expect(await parley.recordOf(response)).toMatchObject({ state: 'ok', cost, tokens: counted });
}

describe('POST /messages', () => {
  it('reaches the upstream as it comes, with the key and the features that the operator allows', async () => {
    upstream.answer('/messages', json(message([{ type: 'text', text: 'Blue.' }])));
    const cached = { type: 'ephemeral', ttl: '1h' };
    const system = [{ type: 'text', text: 'You look.', cache_control: cached }];
    const document = {
      type: 'document',
      source: { type: 'text', media_type: 'text/plain', data: 'The sea is blue.' },
      title: 'Sea',
      citations: { enabled: true },
    };
    const further = [
      { type: 'content', content: [{ type: 'text', text: 'So is the sky.' }] },
      { type: 'file', file_id: 'file_1' },
    ].map((source) => ({ type: 'document', source }));
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
      cache_control: cached,
    };
    const result = {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [{ type: 'text', text: 'Nothing.' }, image],
      is_error: true,
      cache_control: cached,
    };
    const tool = {
      name: 'look',
      description: 'Looks.',
      input_schema: { type: 'object' },
      cache_control: cached,
    };
    const body = {
      ...asked,
      system,
      messages: [
        {
          role: 'user',
          content: [document, ...further, { type: 'text', text: 'Look.', cache_control: cached }],
        },
        { role: 'assistant', content: [{ type: 'text', text: 'I look.' }, call] },
        { role: 'user', content: [result, { type: 'text', text: 'And now?' }] },
      ],
      tools: [tool],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 50 },
      stop_sequences: ['END'],
      temperature: 1,
      top_k: 5,
      output_config: { effort: 'low' },
    };
    const response = await post('/messages', body, { 'anthropic-beta': 'secret-1, allowed-2026-01-01' });
    expect(await response.json()).toMatchObject({
      type: 'message',
      model: 'served',
      content: [{ type: 'text', text: 'Blue.' }],
      stop_reason: 'end_turn',
      usage,
    });
    expect(received()?.json).toEqual({ ...body, model: 'upstream-model', stream: false });
    expect(received()?.headers).toMatchObject({
      'x-api-key': upstreamKey,
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'allowed-2026-01-01',
    });
    expect(received()?.headers).not.toHaveProperty('authorization');
    await checkCost(response);
  });

  it.each([false, true])('gives thinking and calls, and takes them back, streamed: %s', async (stream) => {
    const content = [thinking, redacted, { type: 'text', text: 'Wait.' }, call];
    const end = { stop_reason: 'tool_use', stop_sequence: null };
    upstream.answer('/messages', stream ? eventsOf(streamed(content, end)) : json(message(content, end)));
    const response = await post('/messages', { ...asked, stream });
    const answered = stream ? joined(await messageEvents(response)) : await response.json();
    await checkCost(response);
    expect(answered).toMatchObject({ stop_reason: 'tool_use', usage });
    const given = answered.content as Json[];
    expect(given.filter(({ type }) => type === 'text' || type === 'tool_use')).toEqual(content.slice(2));
    expect(given.find(({ type }) => type === 'thinking')).toMatchObject({ thinking: 'I must look.' });
    upstream.answer('/messages', json(message([{ type: 'text', text: 'Blue.' }])));
    const result = {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [{ type: 'text', text: 'It is blue.' }],
    };
    const messages = [
      ...asked.messages,
      { role: 'assistant', content: given },
      { role: 'user', content: [result] },
    ];
    expect((await post('/messages', { ...asked, messages })).status).toBe(200);
    expect(received()?.json.messages.slice(1)).toEqual([
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ]);
  });

  it.each([false, true])('keeps citations, streamed: %s', async (stream) => {
    const content = [
      { type: 'text', text: 'The sea is ' },
      { type: 'text', text: 'blue', citations: [citation] },
      { type: 'text', text: '.' },
    ];
    const begun = content.map((block) => ({ citations: [], ...block }));
    upstream.answer('/messages', stream ? eventsOf(streamed(begun)) : json(message(content)));
    const response = await post('/messages', { ...asked, stream });
    const { content: given } = stream ? joined(await messageEvents(response)) : await response.json();
    expect((given as Json[]).filter(({ citations }) => citations)).toEqual([
      { type: 'text', text: stream ? 'blue' : 'The sea is blue.', citations: [citation] },
    ]);
  });

  it('names a stop sequence', async () => {
    const end = { stop_reason: 'stop_sequence', stop_sequence: 'END' };
    upstream.answer('/messages', json(message([{ type: 'text', text: 'Blue.' }], end)));
    const response = await post('/messages', { ...asked, stop_sequences: ['END'] });
    expect(await response.json()).toMatchObject(end);
  });

  it('counts tokens as the upstream does', async () => {
    upstream.answer('/messages/count_tokens', json({ input_tokens: 12_345 }));
    const unread = {
      temperature: 0.5,
      top_p: 0.5,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u' },
    };
    const response = await post('/messages/count_tokens', { ...asked, ...unread, system: 'You look.' });
    expect(await response.json()).toEqual({ input_tokens: 12_345 });
    expect(received()?.json).toEqual({
      model: 'upstream-model',
      system: [{ type: 'text', text: 'You look.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Look at the sea.' }] }],
    });
  });
});

describe('a chat', () => {
  it.each([false, true])('gets the answer in its own form, streamed: %s', async (stream) => {
    const content = [thinking, { type: 'text', text: 'Wait.' }, call];
    const end = { stop_reason: 'tool_use', stop_sequence: null };
    upstream.answer('/messages', stream ? eventsOf(streamed(content, end)) : json(message(content, end)));
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    const messages = [
      { role: 'system', content: 'You look.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Look.' },
          { type: 'image_url', image_url: { url: 'https://example.com/sea.png' } },
        ],
      },
    ];
    const body = {
      model: 'served',
      messages,
      tools,
      tool_choice: 'required',
      parallel_tool_calls: false,
      stream,
    };
    const response = await post('/chat/completions', {
      ...body,
      temperature: 1.5,
      stop: 'END',
      max_completion_tokens: 50,
    });
    expect(response.status).toBe(200);
    expect(received()?.json).toEqual({
      model: 'upstream-model',
      stream,
      max_tokens: 50,
      system: [{ type: 'text', text: 'You look.' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Look.' },
            { type: 'image', source: { type: 'url', url: 'https://example.com/sea.png' } },
          ],
        },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      temperature: 1,
      stop_sequences: ['END'],
    });
    if (!stream) {
      const { choices } = (await response.json()) as { choices: Json[] };
      expect(choices).toMatchObject([
        {
          finish_reason: 'tool_calls',
          message: {
            content: 'Wait.',
            reasoning_content: 'I must look.',
            tool_calls: [
              { id: 'toolu_1', type: 'function', function: { name: 'look', arguments: '{"at":"sea"}' } },
            ],
          },
        },
      ]);
    } else {
      const { events, text, isDone } = await readEvents(response);
      expect([text, isDone]).toEqual(['Wait.', true]);
      const deltas = events.flatMap(({ choices }) => choices.map((choice: { delta: Json }) => choice.delta));
      const calls = deltas.flatMap((delta) => delta.tool_calls ?? []);
      expect(calls.map((made) => made.function.arguments).join('')).toBe('{"at":"sea"}');
      expect(events.at(-1)).toMatchObject({ choices: [{ finish_reason: 'tool_calls' }] });
    }
    await checkCost(response);
  });

  it.each([
    ['/chat/completions', { messages: asked.messages }],
    ['/responses', { input: 'Look.' }],
    ['/messages', { max_tokens: 100, messages: asked.messages }],
  ])(
    'on %s reads events for a plain request and a message for a stream, whatever their type',
    async (path, body) => {
      const content = [thinking, { type: 'text', text: 'Wait.' }, call];
      const end = { stop_reason: 'tool_use', stop_sequence: null };
      const parts = streamed(content, end);
      // Some servers have no tokens in the last event.
      const zeros = { ...parts.at(-2), usage: { ...usage, input_tokens: 0 } };
      for (const headers of [
        { 'content-type': 'application/json' },
        { 'content-type': 'text/event-stream' },
      ]) {
        const events = [...parts.slice(0, -2), zeros, parts.at(-1)];
        upstream.answer(
          '/messages',
          eventText(
            events.map((value) => `data: ${JSON.stringify(value)}\n\n`),
            { headers },
          ),
        );
        const plain = await post(path, { model: 'served', ...body });
        const got = await plain.text();
        for (const words of ['I must look.', 'Wait.', 'sea']) expect(got).toContain(words);
        await checkCost(plain);
        upstream.answer('/messages', json(message(content, end), { headers }));
        const stream = await post(path, { model: 'served', ...body, stream: true });
        const heard = await stream.text();
        for (const words of ['I must look.', 'Wait.', 'sea']) expect(heard).toContain(words);
        await checkCost(stream);
      }
    },
  );

  it('in the form of the Responses API keeps thinking for the next turn', async () => {
    const end = { stop_reason: 'tool_use', stop_sequence: null };
    upstream.answer('/messages', eventsOf(streamed([thinking, call], end)));
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
    const first = await post('/responses', { model: 'served', input: 'Look.', tools, stream: true });
    const events = await messageEvents(first);
    await checkCost(first);
    const completed = events.find(({ type }) => type === 'response.completed');
    if (completed === undefined) throw new Error('the response is not complete');
    const { output } = completed['response'] as { output: Json[] };
    upstream.answer('/messages', json(message([{ type: 'text', text: 'Blue.' }])));
    const input = [
      { role: 'user', content: 'Look.' },
      ...output,
      { type: 'function_call_output', call_id: 'toolu_1', output: 'It is blue.' },
    ];
    expect((await post('/responses', { model: 'served', input, tools })).status).toBe(200);
    expect(received()?.json.messages[1]).toEqual({ role: 'assistant', content: [thinking, call] });
  });

  it.each([false, true])('gets the empty parameters of a call as JSON, streamed: %s', async (stream) => {
    const content = [
      { ...call, input: {} },
      { ...call, id: 'toolu_2' },
    ];
    const silent = streamed(content).map((event) => {
      const { delta } = event as { delta?: Json };
      return delta?.['partial_json'] === '{}' ? { ...event, delta: { ...delta, partial_json: '' } } : event;
    });
    upstream.answer('/messages', stream ? eventsOf(silent) : json(message(content)));
    const messages = [{ role: 'user', content: 'Look.' }];
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
    const response = await post('/chat/completions', { model: 'served', messages, tools, stream });
    const texts = ['', ''];
    if (stream) {
      for (const { choices } of (await readEvents(response)).events)
        for (const { index, function: called } of choices?.[0]?.delta?.tool_calls ?? [])
          texts[index] += called?.arguments ?? '';
    } else {
      const { choices } = (await response.json()) as { choices: [{ message: { tool_calls: typeof calls } }] };
      const calls: readonly { function: { arguments: string } }[] = choices[0].message.tool_calls;
      for (const [index, { function: called }] of calls.entries()) texts[index] = called.arguments;
    }
    expect(texts).toEqual(['{}', '{"at":"sea"}']);
  });

  it('is counted here if its end does not report its output', async () => {
    const events = streamed([{ type: 'text', text: 'word '.repeat(500) }]).map(
      (event): Json => ({ ...event, usage: undefined }),
    );
    upstream.answer('/messages', eventsOf(events));
    const response = await post('/messages', { ...asked, max_tokens: 2_000, stream: true });
    await response.text();
    const { state, tokens } = await parley.recordOf(response);
    expect(state).toBe('ok');
    expect(tokens?.completionTokens).toBeGreaterThan(450);
  });

  it('is not whole without a reason of its end', async () => {
    upstream.answer('/messages', json(message([{ type: 'text', text: 'Blue.' }], { stop_reason: null })));
    const response = await post('/messages', asked);
    expect(response.status).toBe(502);
  });

  it('refuses several answers, and tools that are no functions', async () => {
    const messages = [{ role: 'user', content: 'Look.' }];
    for (const [param, more] of [
      ['n', { n: 2 }],
      ['tools[0].type', { tools: [{ type: 'custom', custom: { name: 'look' } }] }],
    ] as const) {
      const error = await errorOf(await post('/chat/completions', { model: 'served', messages, ...more }));
      expect(error).toMatchObject({ status: 400, code: 'invalid_parameter', param });
    }
  });
});

it('answers over Connect at the same cost', async () => {
  upstream.answer('/messages', json(message([{ type: 'text', text: 'Blue.' }])));
  const { origin } = new URL(parley.baseUrl);
  const response = await fetch(`${origin}/parley.messages.v1.MessagesService/CreateMessage`, {
    method: 'POST',
    headers: { authorization: `Bearer ${parley.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      params: { model: 'served', messages: [{ role: 'user', content: { text: 'Look.' } }] },
    }),
  });
  expect(await response.json()).toMatchObject({ message: { content: [{ text: 'Blue.' }] } });
  await checkCost(response);
});

it('counts tokens itself if the upstream cannot', async () => {
  upstream.answer('/messages/count_tokens', failure(404));
  const response = await post('/messages/count_tokens', asked);
  expect(await response.json()).toEqual({ input_tokens: expect.any(Number) });
  upstream.answer('/messages/count_tokens', failure(500));
  expect((await post('/messages/count_tokens', asked)).status).toBe(500);
});

it('shortens the thinking with the answer that credits cannot cover, and refuses what leaves no room for both', async () => {
  upstream.answer('/messages', json(message([{ type: 'text', text: 'Blue.' }])));
  const thinking = { type: 'enabled', budget_tokens: 3_500 };
  const ask = async (credits: string) => {
    const headers = { authorization: `Bearer ${await parley.newKey({ credits })}` };
    return parley.postJson('/messages', { ...asked, max_tokens: 3_900, thinking }, { headers });
  };
  expect((await ask('0.03')).status).toBe(200);
  const sent = received()?.json;
  expect(sent.max_tokens).toBeLessThan(2_000);
  expect(sent.thinking).toEqual({ type: 'enabled', budget_tokens: sent.max_tokens - 1 });
  expect(await errorOf(await ask('0.012'))).toMatchObject({ type: 'billing_error' });
});

it('reads the context of a model from the list of the upstream', async () => {
  upstream.answer(
    '/models',
    json({ data: [{ type: 'model', id: 'upstream-model', max_input_tokens: 200_000 }] }),
  );
  const { contextTokens: _, ...model } = servedModel;
  const reading = await startBehind(upstream.baseUrl, { engine: { kind: 'anthropic' }, models: [model] });
  const contexts = async () => {
    const { data } = (await (await reading.call('/models')).json()) as {
      data: { context_length?: number }[];
    };
    return data.map(({ context_length: tokens }) => tokens);
  };
  await expect.poll(contexts).toEqual([200_000]);
  await reading.close();
});

it('is checked by its list of models', async () => {
  upstream.answer('/models', json({ data: [{ type: 'model', id: 'upstream-model' }] }));
  const diagnose = async () => {
    const { diagnostics } = (await (await parley.admin('/server/diagnose', {})).json()) as {
      diagnostics: Json[];
    };
    return diagnostics.filter(({ area }) => area === 'engine upstream').map(({ found }) => found);
  };
  expect(await diagnose()).toEqual([`${upstream.baseUrl} answers.`, 'It lists upstream-model.']);
  expect(received()?.headers).toMatchObject({ 'x-api-key': upstreamKey, 'anthropic-version': '2023-06-01' });
});

it('is checked before it is an engine, also by a message of one token', async () => {
  upstream.answer('/models', json({ data: [{ id: 'small', max_input_tokens: 1000 }] }));
  upstream.answer('/messages', json({ content: [], usage: { input_tokens: 3, output_tokens: 1 } }));
  const engine = { kind: 'anthropic', url: upstream.baseUrl, api_key: 'sk-typed', chat: true };
  const models = [{ name: 'small', type: 'chat' }];
  const answer = await parley.admin('/engines/check', { ...engine, models });
  const { diagnostics } = (await answer.json()) as { diagnostics: Json[] };
  expect(diagnostics.map(({ found }) => found)).toEqual([
    `${upstream.baseUrl} answers.`,
    'It lists small.',
    'The upstream reports a context of 1000 tokens.',
    'It answers, and reports its tokens.',
  ]);
  expect(received()).toMatchObject({
    headers: { 'x-api-key': 'sk-typed', 'anthropic-version': '2023-06-01' },
    json: { model: 'small', max_tokens: 1 },
  });
});

describe('failures', () => {
  const failed = (type: string, text: string) => ({ type: 'error', error: { type, message: text } });

  it.each([
    [
      400,
      failed('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
      400,
      'context_length_exceeded',
    ],
    [401, failed('authentication_error', 'invalid x-api-key'), 401, 'upstream_error'],
    [429, failed('rate_limit_error', 'slow down'), 429, 'upstream_error'],
    [529, failed('overloaded_error', 'Overloaded'), 529, 'upstream_error'],
  ])('of the status %i cost nothing', async (status, body, httpStatus, code) => {
    upstream.answer('/messages', json(body, { status }));
    const response = await post('/chat/completions', asked);
    const { headers } = response;
    expect(headers.get('x-request-id')).toBeTruthy();
    const record = await parley.recordOf(response);
    expect([response.status, (await errorOf(response)).code]).toEqual([httpStatus, code]);
    expect(record.cost ?? 0n).toBe(0n);
  });

  it('in the middle of a stream end it, and cost nothing', async () => {
    const begun = streamed([{ type: 'text', text: 'Blue.' }]).slice(0, 4);
    upstream.answer('/messages', eventsOf([...begun, failed('overloaded_error', 'Overloaded')]));
    const response = await post('/messages', { ...asked, stream: true });
    expect((await messageEvents(response)).at(-1)).toMatchObject({ type: 'error' });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed' });
  });

  it('are not streams whose last event has other members first', async () => {
    const events = streamed([{ type: 'text', text: 'Blue.' }]).slice(0, -2);
    const end = streamed([]).at(-2) ?? {};
    upstream.answer('/messages', eventsOf([...events, end, { note: 'x', type: 'message_stop' }]));
    const response = await post('/messages', { ...asked, stream: true });
    expect((await messageEvents(response)).at(-1)).toMatchObject({ type: 'message_stop' });
    await checkCost(response);
  });

  it('are paid for by a client that leaves after output: what it got, and the prompt that was reported', async () => {
    const words = Array.from({ length: 300 }, (_, n) => `wave ${n} `).join('');
    upstream.answer('/messages', async (exchange) => {
      exchange.head(200, { 'content-type': 'text/event-stream' });
      for (const value of streamed([{ type: 'text', text: words }]).slice(0, -3))
        exchange.write(`data: ${JSON.stringify(value)}\n\n`);
      await exchange.forever();
    });
    const leaving = new AbortController();
    const response = await parley.postJson(
      '/messages',
      { ...asked, max_tokens: 2_000, stream: true },
      { signal: leaving.signal },
    );
    let read = '';
    for await (const piece of response.body ?? []) {
      read += Buffer.from(piece);
      if (read.includes('wave 299')) break;
    }
    leaving.abort();
    const record = await parley.recordOf(response);
    expect(record).toMatchObject({
      state: 'cancelled',
      tokens: { ...counted, completionTokens: expect.any(Number) },
    });
    expect(record.tokens?.completionTokens).toBeGreaterThan(600);
    expect(record.cost).toBe(cost + (BigInt(record.tokens?.completionTokens ?? 0) - 40n) * 15_000n);
  });

  it('are paid for in full by a client that leaves after output whose tokens only the upstream knows', async () => {
    const left = Promise.withResolvers<void>();
    const events = streamed([redacted, { type: 'text', text: 'Blue.' }]);
    upstream.answer('/messages', async (exchange) => {
      exchange.head(200, { 'content-type': 'text/event-stream' });
      const send = (value: Json) => exchange.write(`data: ${JSON.stringify(value)}\n\n`);
      for (const value of events.slice(0, -3)) await send(value);
      await left.promise;
      // So that the server sees that the client has left.
      for (let pings = 0; pings < 20; pings++) {
        await exchange.pause(20);
        await send({ type: 'ping' });
      }
      for (const value of events.slice(-3)) await send(value);
      exchange.end();
    });
    const leaving = new AbortController();
    const init = { signal: leaving.signal };
    const response = await parley.postJson('/messages', { ...asked, stream: true }, init);
    let read = '';
    for await (const piece of response.body ?? []) {
      read += Buffer.from(piece);
      if (read.includes('"e."')) break;
    }
    leaving.abort();
    left.resolve();
    expect(await parley.recordOf(response)).toMatchObject({ cost, tokens: counted });
  });

  it('are streams without an end', async () => {
    upstream.answer('/messages', eventsOf(streamed([{ type: 'text', text: 'Blue.' }]).slice(0, -2)));
    const response = await post('/messages', { ...asked, stream: true });
    await response.text();
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', code: 'upstream_error' });
  });
});

/** The message that the events build. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape.
function joined(events: readonly Json[]): any {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const content: any[] = [];
  const inputs: string[] = [];
  let end: Json = {};
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  for (const event of events as any[]) {
    const block = content[event.index];
    if (event.type === 'content_block_start') content[event.index] = structuredClone(event.content_block);
    if (event.type === 'message_delta') end = { ...event.delta, usage: event.usage };
    if (event.type !== 'content_block_delta') continue;
    const { text, thinking: thought, signature, citation: cited, partial_json: input } = event.delta;
    if (text) block.text += text;
    if (thought) block.thinking += thought;
    if (signature) block.signature = signature;
    if (cited) block.citations = [...(block.citations ?? []), cited];
    if (input) {
      inputs[event.index] = (inputs[event.index] ?? '') + input;
      try {
        block.input = JSON.parse(inputs[event.index] ?? '');
      } catch {
        // It goes on in the next piece.
      }
    }
  }
  return { ...end, content };
}
