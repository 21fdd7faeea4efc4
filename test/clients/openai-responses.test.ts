/** The newest OpenAI SDK on POST /responses. Its stream helper throws if events are out of order or lack their ids. */
import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBehind } from '../support/behind-upstream.ts';
import { chunk, chunks, completion, reported } from '../support/chat-answers.ts';
import { startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, failure, json } from '../support/upstream-answers.ts';

const path = '/chat/completions';
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl);
const client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.apiKey, maxRetries: 0 });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'weather',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
};
const call = (index: number | undefined, id: string | undefined, args: string) => ({
  tool_calls: [
    { index, id, type: 'function', function: { ...(id && { name: 'weather' }), arguments: args } },
  ],
});
const end = (finish_reason: string) => [
  chunk({}, { finish_reason }),
  { ...chunk({}), choices: [], usage: reported },
];
const ended = (finish: string, ...deltas: object[]) => [
  chunk({ role: 'assistant', content: '' }),
  ...deltas.map((delta) => chunk({ ...delta })),
  ...end(finish),
];

async function streamOf(sent: unknown[]) {
  upstream.answer(path, events(sent));
  const stream = client.responses.stream({ model: 'served', input: 'go', tools: [weather] });
  const seen: ResponseStreamEvent[] = [];
  for await (const event of stream) seen.push(event);
  const response = await stream.finalResponse();
  expect(seen.map(({ sequence_number }) => sequence_number)).toEqual(seen.map((_, index) => index));
  return { seen, response, types: seen.map(({ type }) => type.replace(/^response\./, '')) };
}

/** An answer has the id of its request, with another prefix. */
async function recordOf(responseId: string) {
  const { items } = await parley.app.store.usage.list({ operation: 'chat' }, { size: 100, after: undefined });
  return items.find(({ id }) => id === responseId.replace('resp_', 'req_'));
}

describe('responses.create', () => {
  it('reads text, usage and the parameters of its request', async () => {
    const prompt_tokens_details = { cached_tokens: 5, cache_write_tokens: 2 };
    const usage = { ...reported, prompt_tokens_details, completion_tokens_details: { reasoning_tokens: 3 } };
    upstream.answer(path, json(completion('hello there', { usage })));
    const response = await client.responses.create({
      model: 'served',
      input: 'say hello',
      metadata: { a: 'b' },
    });
    expect(response).toMatchObject({ object: 'response', status: 'completed', error: null, store: false });
    expect(response.output_text).toBe('hello there');
    expect(response.metadata).toEqual({ a: 'b' });
    expect(response.usage).toMatchObject({
      input_tokens: 9,
      output_tokens: 4,
      total_tokens: 13,
      input_tokens_details: prompt_tokens_details,
      output_tokens_details: { reasoning_tokens: 3 },
    });
  });

  it('continues with the items of the last answer and the output of its call', async () => {
    const message = {
      role: 'assistant',
      content: 'I look.',
      reasoning_content: 'Where?',
      ...call(undefined, 'call_1', '{"city":"Oslo"}'),
    };
    upstream.answer(
      path,
      json(completion('', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })),
      json(completion('Rain.')),
    );
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Oslo?' }];
    const first = await client.responses.create({ model: 'served', input, tools: [weather] });
    expect(first.output.map(({ type }) => type)).toEqual(['reasoning', 'message', 'function_call']);
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'rain' } as const;
    // Answers may be used as input, but the types of the SDK do not allow it.
    const items = [...input, ...first.output, output] as OpenAI.Responses.ResponseInput;
    const second = await client.responses.create({ model: 'served', input: items, tools: [weather] });
    expect(second.output_text).toBe('Rain.');
    expect(upstream.requests.at(-1)?.json.messages).toEqual([
      { role: 'user', content: 'Oslo?' },
      {
        role: 'assistant',
        content: 'I look.',
        reasoning_content: 'Where?',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
      { role: 'tool', content: 'rain', tool_call_id: 'call_1' },
    ]);
  });

  it('has the citations of a text, whole and streamed', async () => {
    const place = { start_index: 0, end_index: 4, url: 'https://x.example/', title: 'X' };
    const annotations = [{ type: 'url_citation', url_citation: place }];
    const cited = [{ type: 'url_citation', ...place }];
    const message = { role: 'assistant', content: 'Rain.', annotations };
    upstream.answer(path, json(completion('', { choices: [{ index: 0, message, finish_reason: 'stop' }] })));
    const { output } = await client.responses.create({ model: 'served', input: 'Oslo?' });
    expect(output).toMatchObject([{ content: [{ text: 'Rain.', annotations: cited }] }]);
    const { seen, response } = await streamOf(ended('stop', { content: 'Rain.' }, { annotations }));
    expect(response.output).toMatchObject([{ content: [{ text: 'Rain.', annotations: cited }] }]);
    expect(seen.find(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject({
      item_id: response.output[0]?.id,
      output_index: 0,
      content_index: 0,
      annotation_index: 0,
      annotation: cited[0],
    });
  });

  it('parses a text with a schema', async () => {
    upstream.answer(path, json(completion('{"city":"Oslo"}')));
    const format = zodTextFormat(z.object({ city: z.string() }), 'place');
    const { output_parsed } = await client.responses.parse({ model: 'served', input: 'x', text: { format } });
    expect(output_parsed).toEqual({ city: 'Oslo' });
    expect(upstream.requests.at(-1)?.json.response_format).toMatchObject({
      type: 'json_schema',
      json_schema: { name: 'place', strict: true, schema: { required: ['city'] } },
    });
  });

  it('throws its own error with code and parameter', async () => {
    const create = client.responses.create({ model: 'served', input: 'x', previous_response_id: 'resp_1' });
    await expect(create).rejects.toThrow(OpenAI.BadRequestError);
    await expect(create).rejects.toMatchObject({ code: 'invalid_parameter', param: 'previous_response_id' });
    upstream.answer(path, failure(429, { 'retry-after': '3' }));
    const streamed = client.responses.create({ model: 'served', input: 'x', stream: true });
    await expect(streamed).rejects.toThrow(OpenAI.RateLimitError);
  });
});

describe('responses.stream', () => {
  it('gathers a text', async () => {
    const { types, response } = await streamOf(chunks('hel', 'lo'));
    expect(response.output_text).toBe('hello');
    expect(response.usage?.total_tokens).toBe(13);
    expect(types).toEqual([
      ...['created', 'in_progress', 'output_item.added', 'content_part.added'],
      ...['output_text.delta', 'output_text.delta', 'output_text.done'],
      ...['content_part.done', 'output_item.done', 'completed'],
    ]);
  });

  it('gathers reasoning, text and two calls', async () => {
    const { types, response } = await streamOf(
      ended(
        'tool_calls',
        ...[{ reasoning_content: 'Hm' }, { reasoning_content: '.' }, { content: 'I look.' }],
        ...[call(0, 'a', ''), call(0, undefined, '{"city":'), call(0, undefined, '"Oslo"}')],
        call(1, 'b', '{"city":"Rome"}'),
      ),
    );
    expect(response.output).toMatchObject([
      { type: 'reasoning', status: 'completed', content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', call_id: 'a', parsed_arguments: { city: 'Oslo' } },
      { type: 'function_call', call_id: 'b', parsed_arguments: { city: 'Rome' } },
    ]);
    const text = (part: string) => [
      ...['output_item.added', 'content_part.added', `${part}.delta`],
      ...(part === 'reasoning_text' ? [`${part}.delta`] : []),
      ...[`${part}.done`, 'content_part.done', 'output_item.done'],
    ];
    const args = 'function_call_arguments';
    expect(types.slice(2, -1)).toEqual([
      ...text('reasoning_text'),
      ...text('output_text'),
      ...['output_item.added', `${args}.delta`, `${args}.delta`, 'output_item.added', `${args}.delta`],
      ...[`${args}.done`, 'output_item.done', `${args}.done`, 'output_item.done'],
    ]);
  });

  it('gathers the input of a custom call beside a function call', async () => {
    const custom = (id: string | undefined, input: string) => ({
      tool_calls: [{ index: 0, id, type: id && 'custom', custom: { ...(id && { name: 'sql' }), input } }],
    });
    const { seen, types, response } = await streamOf(
      ended(
        'tool_calls',
        ...[custom('a', ''), custom(undefined, 'select '), custom(undefined, '1')],
        call(1, 'b', '{"city":"Rome"}'),
      ),
    );
    expect(response.output).toMatchObject([
      { type: 'custom_tool_call', status: 'completed', call_id: 'a', name: 'sql', input: 'select 1' },
      { type: 'function_call', call_id: 'b', arguments: '{"city":"Rome"}' },
    ]);
    expect(types.slice(2, -1)).toEqual([
      'output_item.added',
      ...['custom_tool_call_input.delta', 'custom_tool_call_input.delta'],
      ...['output_item.added', 'function_call_arguments.delta'],
      ...['custom_tool_call_input.done', 'output_item.done'],
      ...['function_call_arguments.done', 'output_item.done'],
    ]);
    const done = seen.find(({ type }) => type === 'response.custom_tool_call_input.done');
    const [item] = response.output;
    expect(done).toMatchObject({ item_id: item?.id, output_index: 0, input: 'select 1' });
  });

  it('counts the input of a custom call if the upstream reports no usage', async () => {
    const words = 'one two three four five six seven eight nine ten';
    const custom = {
      tool_calls: [{ index: 0, id: 'a', type: 'custom', custom: { name: 'f', input: words } }],
    };
    upstream.answer(path, events([chunk(custom), chunk({}, { finish_reason: 'tool_calls' })]));
    const stream = client.responses.stream({ model: 'served', input: 'go' });
    const { usage } = await stream.finalResponse();
    expect(usage?.output_tokens).toBeGreaterThan(9);
  });

  it.each([
    ['numbered alike', 0],
    ['without numbers', undefined],
  ])('distinguishes calls that are %s', async (_, index) => {
    const { response } = await streamOf(
      ended('stop', call(index, 'a', '{"city":"Oslo"}'), call(index, 'b', '{"city":"Rome"}')),
    );
    expect(response.output).toMatchObject([
      { call_id: 'a', arguments: '{"city":"Oslo"}' },
      { call_id: 'b', arguments: '{"city":"Rome"}' },
    ]);
  });

  it('gathers a refusal after a text as parts of one message', async () => {
    const { types, response } = await streamOf(ended('stop', { content: 'Well, ' }, { refusal: 'no.' }));
    expect(response.output).toMatchObject([
      {
        content: [
          { type: 'output_text', text: 'Well, ' },
          { type: 'refusal', refusal: 'no.' },
        ],
      },
    ]);
    expect(types.slice(2, -1)).toEqual([
      ...['output_item.added', 'content_part.added', 'output_text.delta', 'output_text.done'],
      ...['content_part.done', 'content_part.added', 'refusal.delta', 'refusal.done'],
      ...['content_part.done', 'output_item.done'],
    ]);
  });

  it('gathers the probabilities of tokens', async () => {
    const content = [{ token: 'hi', logprob: -0.5, bytes: [104, 105], top_logprobs: [] }];
    const sent = [chunk({ content: 'hi' }, { logprobs: { content } }), ...end('stop')];
    const { response } = await streamOf(sent);
    expect(response.output).toMatchObject([
      { content: [{ text: 'hi', logprobs: [{ token: 'hi', logprob: -0.5, bytes: [104, 105] }] }] },
    ]);
  });

  it.each([
    ['length', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('distinguishes an answer that ends by %s from a complete one', async (finish, reason) => {
    const { types, response } = await streamOf(ended(finish, { content: 'hel' }));
    expect(types.at(-1)).toBe('incomplete');
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
    expect(response.output).toMatchObject([{ status: 'incomplete' }]);
  });

  it('ends once if the upstream breaks off, and debits nothing', async () => {
    upstream.answer(path, events([chunk({ content: 'hel' })], { done: false }));
    const stream = client.responses.stream({ model: 'served', input: 'go' });
    const seen: string[] = [];
    let record: unknown;
    const read = async () => {
      for await (const event of stream) {
        seen.push(event.type);
        // Nothing is open any more when the client reads the answer.
        if (event.type === 'response.failed') record = await recordOf(event.response.id);
      }
    };
    await read();
    expect(seen.filter((type) => /^(error|response\.(failed|completed|incomplete))$/.test(type))).toEqual([
      'response.failed',
    ]);
    expect(seen.at(-1)).toBe('response.failed');
    expect((await stream.finalResponse()).error).toMatchObject({
      code: 'server_error',
      reason: 'upstream_error',
      message: expect.stringContaining('engine behind this model'),
    });
    expect(record).toMatchObject({ state: 'failed', code: 'upstream_error', cost: undefined });
  });
});
