/** The newest Anthropic SDK on POST /messages. Its stream helper throws if events are out of order. */
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, describe, expect, it } from 'vitest';
import { startBehind } from '../support/behind-upstream.ts';
import { chunk, chunks, completion, reported } from '../support/chat-answers.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, failure, json } from '../support/upstream-answers.ts';

const path = '/chat/completions';
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl);
const baseURL = parley.baseUrl.replace(/\/v1$/, '');
const client = new Anthropic({ baseURL, apiKey: parley.apiKey, maxRetries: 0 });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const question = {
  model: 'served',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'go' }],
} satisfies Anthropic.MessageCreateParams;
const weather: Anthropic.Tool = {
  name: 'weather',
  description: 'Looks up the weather.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
};
const call = (index: number | undefined, id: string | undefined, args: string) => ({
  tool_calls: [
    { index, id, type: 'function', function: { ...(id && { name: 'weather' }), arguments: args } },
  ],
});
const ended = (finish_reason: string, ...deltas: object[]) => [
  chunk({ role: 'assistant', content: '' }),
  ...deltas.map((delta) => chunk({ ...delta })),
  chunk({}, { finish_reason }),
  { ...chunk({}), choices: [], usage: reported },
];
const sent = () => upstream.requests.at(-1)?.json;

async function streamOf(answer: unknown[]) {
  upstream.answer(path, events(answer));
  const seen: Anthropic.MessageStreamEvent[] = [];
  const stream = client.messages.stream({ ...question, tools: [weather] });
  for await (const event of stream) seen.push(event);
  return { types: seen.map(({ type }) => type), message: await stream.finalMessage() };
}

/** An answer has the id of its request, with another prefix. */
async function recordOf(messageId: string) {
  const { items } = await parley.app.store.usage.list({ operation: 'chat' }, { size: 100, after: undefined });
  return items.find(({ id }) => id === messageId.replace('msg_', 'req_'));
}

describe('messages.create', () => {
  it('reads text and usage, whose sum is the record’s', async () => {
    const prompt_tokens_details = { cached_tokens: 5, cache_write_tokens: 2 };
    upstream.answer(path, json(completion('hello there', { usage: { ...reported, prompt_tokens_details } })));
    const message = await client.messages.create(question);
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'served',
      content: [{ type: 'text', text: 'hello there' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: {
        input_tokens: 2,
        cache_read_input_tokens: 5,
        cache_creation_input_tokens: 2,
        output_tokens: 4,
      },
    });
    const record = await recordOf(message.id);
    expect(record).toMatchObject({ state: 'ok', tokens: { promptTokens: 9, completionTokens: 4 } });
    expect(record?.cost).toBeGreaterThan(0n);
  });

  it('sends a conversation with images, calls, their results and thinking', async () => {
    upstream.answer(path, json(completion('Rain.')));
    await client.messages.create({
      ...question,
      system: [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.1; cch=0af31;' },
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
      ],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
            {
              type: 'document',
              title: 'a.pdf',
              source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
            },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: '' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } },
            { type: 'tool_use', id: 'b', name: 'weather', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'rain' }] },
            { type: 'tool_result', tool_use_id: 'b', content: 'sun', is_error: true },
            { type: 'text', text: 'So?' },
          ],
        },
      ],
      tools: [weather],
      tool_choice: { type: 'tool', name: 'weather', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 1024 },
      metadata: { user_id: 'u' },
      output_config: { effort: 'low', format: { type: 'json_schema', schema: { type: 'object' } } },
      stop_sequences: ['END'],
      // The SDK's types have these no longer.
      ...({ temperature: 0.5, top_k: 5 } as object),
    });
    expect(sent()).toEqual({
      model: 'upstream-model',
      stream: false,
      max_tokens: 50,
      temperature: 0.5,
      top_k: 5,
      stop: ['END'],
      parallel_tool_calls: false,
      tool_choice: { type: 'function', function: { name: 'weather' } },
      reasoning_effort: 'low',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'output', schema: { type: 'object' }, strict: true },
      },
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'Looks up the weather.',
            parameters: weather.input_schema,
          },
        },
      ],
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Where?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
            { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA', filename: 'a.pdf' } },
          ],
        },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
            { id: 'b', type: 'function', function: { name: 'weather', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'rain' },
        { role: 'tool', tool_call_id: 'b', content: 'Error: sun' },
        { role: 'user', content: 'So?' },
      ],
    });
  });

  it('sends images of an output after all outputs, and blocks that no chat has as text', async () => {
    upstream.answer(path, json(completion('I see.')));
    const image: Anthropic.ImageBlockParam = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'AAAA' },
    };
    const found: Anthropic.SearchResultBlockParam = {
      type: 'search_result',
      source: 'https://example.com/oslo',
      title: 'Oslo',
      content: [{ type: 'text', text: 'It rains.' }],
      citations: { enabled: true },
    };
    await client.messages.create({
      ...question,
      messages: [
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'Oslo' } },
            {
              type: 'web_search_tool_result',
              tool_use_id: 's',
              content: [
                { type: 'web_search_result', title: 'A', url: 'https://a.test', encrypted_content: 'EqgF' },
              ],
            },
            {
              type: 'web_fetch_tool_result',
              tool_use_id: 's',
              content: { type: 'web_fetch_tool_result_error', error_code: 'unavailable' },
            },
            { type: 'tool_use', id: 'a', name: 'look', input: {} },
            { type: 'tool_use', id: 'b', name: 'look', input: {} },
            { type: 'tool_use', id: 'c', name: 'look', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'seen' }, image] },
            { type: 'tool_result', tool_use_id: 'b', content: [image], is_error: true },
            {
              type: 'tool_result',
              tool_use_id: 'c',
              content: [{ type: 'tool_reference', tool_name: 'weather' }, found],
            },
            found,
          ],
        },
      ],
    });
    const follow = 'The images and documents of this output follow in the next message.';
    const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const foundText = 'Oslo\nhttps://example.com/oslo\nIt rains.';
    const text = (value: string) => ({ type: 'text', text: value });
    expect(sent().messages).toEqual([
      {
        role: 'assistant',
        content: ['web_search\n{"query":"Oslo"}', 'A\nhttps://a.test', 'unavailable'].map(text),
        tool_calls: ['a', 'b', 'c'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'look', arguments: '{}' },
        })),
      },
      { role: 'tool', tool_call_id: 'a', content: `seen\n${follow}` },
      { role: 'tool', tool_call_id: 'b', content: `Error: ${follow}` },
      { role: 'tool', tool_call_id: 'c', content: `weather\n${foundText}` },
      {
        role: 'user',
        content: [
          text('From the output of the call a:'),
          shown,
          text('From the output of the call b:'),
          shown,
          text(foundText),
        ],
      },
    ]);
  });

  it('sends a summary of a compacted conversation and a document of blocks as text', async () => {
    upstream.answer(path, json(completion('Yes.')));
    const document = {
      type: 'document' as const,
      title: 'Notes',
      source: { type: 'content' as const, content: [{ type: 'text' as const, text: 'It rains.' }] },
    };
    const summary = {
      type: 'compaction',
      content: 'They spoke of rain.',
    } as unknown as Anthropic.TextBlockParam;
    await client.messages.create({
      ...question,
      messages: [
        { role: 'assistant', content: [summary] },
        { role: 'user', content: [document, { type: 'text', text: 'So?' }] },
      ],
    });
    expect(sent().messages).toEqual([
      { role: 'assistant', content: 'They spoke of rain.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Notes\nIt rains.' },
          { type: 'text', text: 'So?' },
        ],
      },
    ]);
  });

  it('reads thinking, text and calls', async () => {
    const message = {
      role: 'assistant',
      content: 'I look.',
      reasoning_content: 'Where?',
      ...call(undefined, 'a', '{"city":"Oslo"}'),
    };
    upstream.answer(path, json(completion('', { choices: [{ index: 0, message, finish_reason: 'stop' }] })));
    const { content, stop_reason } = await client.messages.create({ ...question, tools: [weather] });
    expect(content).toEqual([
      { type: 'thinking', thinking: 'Where?', signature: expect.stringMatching(/^[\w-]{60,}$/) },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } },
    ]);
    expect(stop_reason).toBe('tool_use');
  });

  it.each([
    ['vLLM', { stop_reason: 'END' }, ['stop_sequence', 'END']],
    ['SGLang', { matched_stop: 'END' }, ['stop_sequence', 'END']],
    ['a token of the model', { stop_reason: '<|im_end|>' }, ['end_turn', null]],
    ['the number of a token', { stop_reason: 151645 }, ['end_turn', null]],
  ])('names the sequence that ended the answer, as reported by %s', async (_, named, [reason, sequence]) => {
    const asked = { ...question, stop_sequences: ['STOP', 'END'] };
    const message = { role: 'assistant', content: 'one' };
    const choices = [{ index: 0, message, finish_reason: 'stop', ...named }];
    const streamed = [chunk({ content: 'one' }), chunk({}, { finish_reason: 'stop', ...named })];
    upstream.answer(path, json(completion('', { choices })), events(streamed));
    const expected = { stop_reason: reason, stop_sequence: sequence };
    expect(await client.messages.create(asked)).toMatchObject(expected);
    expect(await client.messages.stream(asked).finalMessage()).toMatchObject(expected);
  });

  it('leaves out a call that the limit cuts, and fails free of charge for one that is malformed', async () => {
    const cut = (finish_reason: string) => {
      const message = { role: 'assistant', content: 'I look.', ...call(0, 'a', '{"city":"Os') };
      return json(completion('', { choices: [{ index: 0, message, finish_reason }] }));
    };
    upstream.answer(path, cut('length'), cut('tool_calls'));
    const message = await client.messages.create(question);
    expect(message).toMatchObject({ stop_reason: 'max_tokens', content: [{ text: 'I look.' }] });
    await expect(client.messages.create(question)).rejects.toThrow(Anthropic.InternalServerError);
    const { items } = await parley.app.store.usage.list({}, { size: 1, after: undefined });
    expect(items[0]).toMatchObject({ state: 'failed', code: 'upstream_error', cost: undefined });
  });

  it('counts tokens without a call of the model, and free of charge', async () => {
    const calls = upstream.requests.length;
    const { messages, model } = question;
    const few = await client.messages.countTokens({ model, messages });
    const more = await client.messages.countTokens({
      model,
      messages,
      system: 'Be brief.',
      tools: [weather],
    });
    expect(few.input_tokens).toBeGreaterThan(0);
    expect(more.input_tokens).toBeGreaterThan(few.input_tokens + 5);
    expect(upstream.requests.length).toBe(calls);
    const { items } = await parley.app.store.usage.list({}, { size: 1, after: undefined });
    expect(items[0]).toMatchObject({ operation: 'chat', state: 'ok', model, cost: undefined });
  });

  it('throws its own errors, in its own shape', async () => {
    const wrong = client.messages.create({
      ...question,
      messages: [{ role: 'user', content: [{ type: 'text' }, { type: 'x' }] }] as never,
    });
    await expect(wrong).rejects.toThrow(Anthropic.BadRequestError);
    await expect(wrong).rejects.toMatchObject({
      error: {
        type: 'error',
        error: { type: 'invalid_request_error', code: 'invalid_messages', param: 'messages[0].content[1]' },
        request_id: expect.stringMatching(/^req_/),
      },
    });
    upstream.answer(path, failure(429, { 'retry-after': '3' }));
    await expect(client.messages.create({ ...question, stream: true })).rejects.toThrow(
      Anthropic.RateLimitError,
    );
    await expect(client.messages.create({ ...question, model: 'none' })).rejects.toMatchObject({
      status: 400,
      error: { error: { code: 'unknown_model' } },
    });
    await expect(client.messages.batches.list()).rejects.toMatchObject({
      status: 404,
      error: { type: 'error', error: { type: 'not_found_error' } },
    });
  });

  it.each([
    ['no key', {}, 'authentication_error', 401],
    ['an unknown key', { 'x-api-key': 'pk_unknown' }, 'authentication_error', 401],
  ])('refuses %s', async (_, headers, type, status) => {
    const response = await fetch(`${parley.baseUrl}/messages`, {
      method: 'POST',
      headers,
      body: JSON.stringify(question),
    });
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error', error: { type, code: 'invalid_api_key' } });
  });

  it('names the base URL to a client that has another', async () => {
    const { origin } = new URL(baseURL);
    const lost = new Anthropic({ baseURL: origin, apiKey: parley.apiKey, maxRetries: 0 });
    await expect(lost.messages.create(question)).rejects.toThrow(/end the base URL in \/api\./);
  });

  it('takes the key as Bearer, too', async () => {
    upstream.answer(path, json(completion()));
    const bearer = new Anthropic({ baseURL, authToken: parley.apiKey, apiKey: null, maxRetries: 0 });
    expect((await bearer.messages.create(question)).content).toMatchObject([{ text: 'hello there' }]);
  });
});

describe('messages.stream', () => {
  it('gathers a text', async () => {
    const { types, message } = await streamOf(chunks('hel', 'lo'));
    expect(message).toMatchObject({
      content: [{ type: 'text', text: 'hello' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 9, output_tokens: 4 },
    });
    expect(types).toEqual([
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_delta'],
      ...['content_block_stop', 'message_delta', 'message_stop'],
    ]);
  });

  it('gathers thinking, text and two calls, whose pieces alternate', async () => {
    const { types, message } = await streamOf(
      ended(
        'tool_calls',
        ...[{ reasoning_content: 'Hm' }, { reasoning_content: '.' }, { content: 'I look.' }],
        ...[call(0, 'a', ''), call(0, undefined, '{"city":'), call(1, 'b', '{"city":')],
        ...[call(0, undefined, '"Oslo"}'), call(1, undefined, '"Rome"}')],
      ),
    );
    expect(message.content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: expect.stringMatching(/^[\w-]{60,}$/) },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'a', name: 'weather', input: { city: 'Oslo' } },
      { type: 'tool_use', id: 'b', name: 'weather', input: { city: 'Rome' } },
    ]);
    expect(message.stop_reason).toBe('tool_use');
    const block = (deltas: number) => [
      'content_block_start',
      ...Array(deltas).fill('content_block_delta'),
      'content_block_stop',
    ];
    expect(types.slice(1, -2)).toEqual([...block(3), ...block(1), ...block(2), ...block(1)]);
  });

  it.each([
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
  ])('distinguishes an answer that ends by %s', async (finish, reason) => {
    const { message } = await streamOf(ended(finish, { content: 'hel' }));
    expect(message.stop_reason).toBe(reason);
  });

  it('throws if the upstream breaks off, and debits nothing', async () => {
    upstream.answer(path, events([chunk({ content: 'hel' })], { done: false }));
    const stream = client.messages.stream(question);
    await expect(stream.finalMessage()).rejects.toThrow(/engine behind this model/);
    const { items } = await parley.app.store.usage.list({ state: 'failed' }, { size: 1, after: undefined });
    expect(items[0]).toMatchObject({ code: 'upstream_error', cost: undefined });
  });
});

it('lists the chat models, and finds one', async () => {
  const listed = [];
  for await (const model of client.models.list()) listed.push(model);
  expect(listed).toEqual([expect.objectContaining({ id: 'served', display_name: 'served', type: 'model' })]);
  expect(await client.models.retrieve('served')).toEqual(listed[0]);
});
