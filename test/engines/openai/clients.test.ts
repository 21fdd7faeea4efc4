/** Common clients, through Parley, with a model behind an OpenAI-compatible upstream. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startBehind } from '../../support/behind-upstream.ts';
import { chunk, chunks, completion, reported } from '../../support/chat-answers.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const city = { city: 'Oslo' };
const weatherCall = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify(city) },
};
const callsTool = completion('', {
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: null, tool_calls: [weatherCall] },
      finish_reason: 'tool_calls',
    },
  ],
});
const callsToolInPieces = [
  chunk({
    role: 'assistant',
    tool_calls: [{ index: 0, ...weatherCall, function: { name: 'weather', arguments: '' } }],
  }),
  ...['{"ci', 'ty":"Os', 'lo"}'].map((part) =>
    chunk({ tool_calls: [{ index: 0, function: { arguments: part } }] }),
  ),
  chunk({}, { finish_reason: 'tool_calls' }),
  { ...chunk({}), choices: [], usage: reported },
];

const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl);
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});
const lastRequest = () => upstream.requests.at(-1)?.json;

describe('the OpenAI SDK', () => {
  let client: OpenAI;
  beforeAll(() => {
    client = new OpenAI({ baseURL: parley.baseUrl, apiKey: parley.apiKey, maxRetries: 0 });
  });
  const question = { model: 'served', messages: [{ role: 'user' as const, content: 'Weather in Oslo?' }] };
  const tools = [
    {
      type: 'function' as const,
      function: {
        name: 'weather',
        strict: true,
        parameters: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
          additionalProperties: false,
        },
      },
    },
  ];

  it('calls tools and sends their results', async () => {
    upstream.answer(path, json(callsTool), json(completion('Cold.')));
    const first = await client.chat.completions.create({
      ...question,
      tools,
      tool_choice: 'auto',
      parallel_tool_calls: false,
    });
    const [choice] = first.choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    expect(choice?.message.tool_calls).toEqual([weatherCall]);
    expect(lastRequest()).toMatchObject({ tools, tool_choice: 'auto', parallel_tool_calls: false });
    if (choice === undefined) return;
    const messages = [
      ...question.messages,
      choice.message,
      { role: 'tool' as const, tool_call_id: 'call_1', content: '-3 °C' },
    ];
    const second = await client.chat.completions.create({ ...question, messages, tools });
    expect(second.choices[0]?.message.content).toBe('Cold.');
    expect(lastRequest().messages).toEqual(JSON.parse(JSON.stringify(messages)));
  });

  it('calls tools in a stream', async () => {
    upstream.answer(path, events(callsToolInPieces));
    const runner = client.chat.completions.stream({
      ...question,
      tools,
      stream_options: { include_usage: true },
    });
    const final = await runner.finalChatCompletion();
    expect(final.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      id: 'call_1',
      function: { name: 'weather', arguments: JSON.stringify(city) },
    });
    expect(final.usage).toMatchObject(reported);
  });

  it('reads structured output', async () => {
    upstream.answer(path, json(completion(JSON.stringify(city))));
    const schema = { type: 'object', properties: { city: { type: 'string' } } };
    const response_format = { type: 'json_schema' as const, json_schema: { name: 'place', schema } };
    const answer = await client.chat.completions.create({ ...question, response_format });
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual(city);
    expect(lastRequest().response_format).toEqual(response_format);
  });
});

describe('the AI SDK with @ai-sdk/openai-compatible', () => {
  const modelOf = () =>
    createOpenAICompatible({
      name: 'parley',
      baseURL: parley.baseUrl,
      apiKey: parley.apiKey,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })('served');
  const weather = tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city: name }) => `-3 °C in ${name}`,
  });

  it('completes the steps of a tool call, streamed', async () => {
    upstream.answer(path, events(callsToolInPieces), events(chunks('Cold.')));
    const result = streamText({
      model: modelOf(),
      prompt: 'Weather?',
      tools: { weather },
      stopWhen: stepCountIs(3),
    });
    expect(await result.text).toBe('Cold.');
    expect(lastRequest().messages.at(-1)).toMatchObject({ role: 'tool', tool_call_id: 'call_1' });
  });

  it('completes the steps of a tool call, plain', async () => {
    upstream.answer(path, json(callsTool), json(completion('Cold.')));
    const result = await generateText({
      model: modelOf(),
      prompt: 'Weather?',
      tools: { weather },
      stopWhen: stepCountIs(3),
    });
    expect(result.text).toBe('Cold.');
  });

  it('reads an object', async () => {
    upstream.answer(path, json(completion(JSON.stringify(city))));
    const output = Output.object({ schema: z.object({ city: z.string() }) });
    const answer = await generateText({ model: modelOf(), output, prompt: 'Where?' });
    expect(answer.output).toEqual(city);
    expect(lastRequest().response_format.type).toBe('json_schema');
  });
});

describe('LangChain', () => {
  const modelOf = () =>
    new ChatOpenAI({
      model: 'served',
      apiKey: parley.apiKey,
      configuration: { baseURL: parley.baseUrl },
      maxRetries: 0,
    });
  beforeEach(() => {
    process.env['LANGCHAIN_TRACING_V2'] = 'false';
  });

  it('binds tools', async () => {
    upstream.answer(path, events(callsToolInPieces));
    const weather = langchainTool(() => 'cold', {
      name: 'weather',
      description: 'The weather in a city.',
      schema: z.object({ city: z.string() }),
    });
    const stream = await modelOf().bindTools([weather]).stream('Weather?');
    let whole: Awaited<ReturnType<typeof stream.next>>['value'];
    for await (const part of stream) whole = whole === undefined ? part : whole.concat(part);
    expect(whole?.tool_calls).toMatchObject([{ name: 'weather', args: city }]);
  });
});
