/** Unknown members pass through unchanged in both directions, plain and streamed, at every depth. */
import type { DescMessage } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import * as pb from '../../../gen/parley/chat/v1/chat_pb.ts';
import { startBehind } from '../../support/behind-upstream.ts';
import { readEvents } from '../../support/chat-answers.ts';
import { startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { events, json } from '../../support/upstream-answers.ts';

const path = '/chat/completions';
const upstream = await startScriptedUpstream();
// Free, so that no run ends for lack of credits.
const free = {
  id: 'served',
  type: 'chat',
  engine: 'upstream',
  price: { input: 0, output: 0 },
  contextTokens: 4096,
};
const parley = await startBehind(upstream.baseUrl, { models: [free] });
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

type Json = Record<string, unknown>;

/** Members that no schema names, except those that mark an answer as an error. */
function unknown(schema: DescMessage): fc.Arbitrary<Json> {
  const known = new Set([...schema.fields.map(({ jsonName }) => jsonName), 'error', 'stream', '__proto__']);
  const name = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('constructor', 'toString', 'x'),
  );
  const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' });
  // JSON has no -0.
  return fc
    .dictionary(
      // Servers may read names in any case, so Parley drops names that look like a checked one.
      name.filter((text) => !known.has(text) && !known.has(text.toUpperCase().toLowerCase())),
      value,
      { maxKeys: 4 },
    )
    .map((members) => JSON.parse(JSON.stringify(members)));
}

const places = fc.record({
  params: unknown(pb.ChatCompletionParamsSchema),
  message: unknown(pb.ChatMessageSchema),
  part: unknown(pb.ContentPartSchema),
  image: unknown(pb.ImageUrlSchema),
  tool: unknown(pb.ToolSchema),
  definition: unknown(pb.FunctionDefinitionSchema),
  call: unknown(pb.ToolCallSchema),
  calledFunction: unknown(pb.FunctionCallSchema),
  format: unknown(pb.ResponseFormatSchema),
  options: unknown(pb.StreamOptionsSchema),
  completion: unknown(pb.ChatCompletionSchema),
  choice: unknown(pb.ChatChoiceSchema),
  answer: unknown(pb.ChatMessageSchema),
  chunk: unknown(pb.ChatCompletionChunkSchema),
  chunkChoice: unknown(pb.ChatChunkChoiceSchema),
  delta: unknown(pb.ChatDeltaSchema),
  logprobs: unknown(pb.LogprobsSchema),
  token: unknown(pb.TokenLogprobSchema),
  usage: unknown(pb.UsageSchema),
  details: unknown(pb.CompletionTokensDetailsSchema),
});
type Places = typeof places extends fc.Arbitrary<infer Value> ? Value : never;

const callWith = ({ call, calledFunction }: Places) => ({
  id: 'call_1',
  type: 'function',
  function: { name: 'f', arguments: '{}', ...calledFunction },
  ...call,
});

function requestWith(at: Places) {
  const part = { type: 'image_url', image_url: { url: 'data:,', ...at.image }, ...at.part };
  return {
    model: 'served',
    messages: [
      { role: 'user', content: [part], ...at.message },
      { role: 'assistant', content: null, tool_calls: [callWith(at)] },
    ],
    tools: [
      { type: 'function', function: { name: 'f', parameters: at.definition, ...at.definition }, ...at.tool },
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema: at.format }, ...at.format },
    ...at.params,
  };
}

const usageWith = (at: Places) => ({
  prompt_tokens: 3,
  completion_tokens: 2,
  total_tokens: 5,
  completion_tokens_details: { reasoning_tokens: 1, ...at.details },
  ...at.usage,
});

const logprobsWith = (at: Places) => ({
  content: [
    {
      token: 'a',
      logprob: -1,
      bytes: [97],
      top_logprobs: [{ token: 'b', logprob: -2, ...at.token }],
      ...at.token,
    },
  ],
  ...at.logprobs,
});

function completionWith(at: Places) {
  const message = {
    role: 'assistant',
    content: 'a',
    refusal: null,
    tool_calls: [callWith(at)],
    ...at.answer,
  };
  return {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message, logprobs: logprobsWith(at), finish_reason: 'stop', ...at.choice }],
    usage: usageWith(at),
    ...at.completion,
  };
}

function chunksWith(at: Places) {
  const head = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
  const delta = { role: 'assistant', content: 'a', tool_calls: [{ index: 0, ...callWith(at) }], ...at.delta };
  return [
    {
      ...head,
      choices: [{ index: 0, delta, logprobs: logprobsWith(at), finish_reason: null, ...at.chunkChoice }],
      ...at.chunk,
    },
    {
      ...head,
      choices: [{ index: 0, delta: at.delta, finish_reason: 'stop', ...at.chunkChoice }],
      ...at.chunk,
    },
    { ...head, choices: [], usage: usageWith(at) },
  ];
}

function oneOfEach(): Places {
  const [sample] = fc.sample(places, 1);
  if (sample === undefined) throw new Error('there is no sample');
  return sample;
}

const ask = (body: unknown) => parley.postJson(path, body);
const received = () => upstream.requests.at(-1)?.json;
/** The limit that Parley always sends. A prompt with references may leave less room. */
const limit = { max_tokens: expect.any(Number) };
const run = { numRuns: 60, endOnFailure: true };

describe('unknown members', () => {
  it('of a plain request reach the upstream; those of its answer reach the client', async () => {
    await fc.assert(
      fc.asyncProperty(places, async (at) => {
        const request = requestWith(at);
        const completion = completionWith(at);
        upstream.answer(path, json(completion));
        const response = await ask(request);
        expect(received()).toEqual({ ...request, ...limit, model: 'upstream-model', stream: false });
        expect(await response.json()).toEqual({ ...completion, model: 'served' });
      }),
      run,
    );
  });

  it('of a streamed request reach the upstream; those of its chunks reach the client', async () => {
    await fc.assert(
      fc.asyncProperty(places, async (at) => {
        const options = { include_usage: true, ...at.options };
        const request = { ...requestWith(at), stream_options: options };
        const chunks = chunksWith(at);
        upstream.answer(path, events(chunks));
        const { events: got, isDone } = await readEvents(await ask({ ...request, stream: true }));
        expect(received()).toEqual({ ...request, ...limit, model: 'upstream-model', stream: true });
        expect(isDone).toBe(true);
        expect(got).toEqual(chunks.map((chunk) => ({ usage: null, ...chunk, model: 'served' })));
      }),
      run,
    );
  });

  it('may have dangerous names', async () => {
    const evil = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": 1}, "hasOwnProperty": null}',
    );
    const request = { model: 'served', messages: [{ role: 'user', content: 'x', ...evil }], ...evil };
    const message = { role: 'assistant', content: 'a', ...evil };
    const completion = {
      ...completionWith(oneOfEach()),
      choices: [{ index: 0, message, finish_reason: 'stop', ...evil }],
      ...evil,
    };
    upstream.answer(path, json(completion));
    const response = await ask(request);
    expect(JSON.stringify(received().messages)).toBe(JSON.stringify(request.messages));
    expect(await response.text()).toContain('"__proto__":{"polluted":true}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('with the name of a known one cannot set an unchecked limit', async () => {
    upstream.answer(path, json(completionWith(oneOfEach())));
    const other = { max_tokens: 1_000_000, n: 50, model: 'another', stream: true, seed: null, top_k: 40 };
    // In a Struct, which only the RPC transports have.
    const params = {
      model: 'served',
      messages: [{ role: 'user', content: { text: 'x' } }],
      max_tokens: 5,
      other,
    };
    const url = new URL('/parley.chat.v1.ChatService/CreateChatCompletion', parley.baseUrl);
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ params }),
    });
    expect(response.status).toBe(200);
    expect(received()).toEqual({
      model: 'upstream-model',
      messages: [{ role: 'user', content: 'x' }],
      max_tokens: 5,
      stream: false,
      seed: null,
      top_k: 40,
    });
  });
});
