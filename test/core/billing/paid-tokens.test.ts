/**
 * No kind of request gets tokens that nobody pays for. Random requests go to an upstream that accepts the longest
 * prompt it can and produces as many tokens as it may.
 */
import { fromJsonString, toJsonString } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import {
  ChatCompletionParamsSchema,
  StreamChatCompletionResponseSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { createTokenCounter } from '../../../src/tokens/counter.ts';
import { servedModel, startBehind } from '../../support/behind-upstream.ts';
import { chunk } from '../../support/chat-answers.ts';
import type { Parley } from '../../support/parley.ts';
import { type Answer, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { testsPostgres } from '../../support/store-folder.ts';
import { events, json } from '../../support/upstream-answers.ts';

type Json = Record<string, unknown>;

const path = '/chat/completions';
const contextTokens = 20_000;
const model = { ...servedModel, contextTokens, outputTokensMax: 4_000 };
const nanoPerToken = 1_000n;

/** The limit as three kinds of servers read it, and the number of tokens without a limit. */
const kinds = {
  max_tokens: (body: Json) => limitOf(body, 'n_predict', 'max_tokens'),
  max_completion_tokens: (body: Json) => limitOf(body, 'max_completion_tokens', 'max_tokens'),
  both: (body: Json) => limitOf(inLowerCase(body), 'n_predict', 'max_new_tokens', 'max_tokens'),
} as const;
type Kind = keyof typeof kinds;

function limitOf(body: Json, ...names: readonly string[]): number {
  const first = names.map((name) => body[name]).find((value) => typeof value === 'number' && value > 0);
  return typeof first === 'number' ? first : contextTokens;
}

/** As in Go's JSON: if two names differ only in case, the last one counts. */
function inLowerCase(body: Json): Json {
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name.toUpperCase().toLowerCase(), value]),
  );
}

/** REST, Connect or gRPC, and the Responses API over REST, each with a plain answer and as a stream. */
const allWires = ['plain', 'streamed', 'unary', 'server stream', 'response', 'streamed response'] as const;

interface Given {
  readonly prompt: number;
  readonly completion: number;
  /** The hold while the upstream worked. */
  readonly held: bigint;
}

const tokens = createTokenCounter();
const upstream = await startScriptedUpstream();
const servers = new Map<Kind, Parley>();
const rpcClients = new Map<Parley, ReturnType<typeof rpcClient>>();
for (const outputLimit of ['max_tokens', 'max_completion_tokens', 'both'] as const) {
  const parley = await startBehind(upstream.baseUrl, { engine: { outputLimit }, models: [model] });
  servers.set(outputLimit, parley);
  rpcClients.set(parley, rpcClient(parley));
}
afterAll(async () => {
  for (const parley of servers.values()) await parley.close();
  await upstream.stop();
  await tokens.close();
});

/** Answers with as many tokens as the limit allows, and records the number. */
function greedy(kind: Kind, heldNow: () => Promise<bigint>, note: (given: Given) => void): Answer {
  return async (exchange) => {
    const body: Json = exchange.request.json;
    const n = Number(body['n_cmpl'] ?? body['n'] ?? 1);
    const completion = kinds[kind](body) * n;
    const prompt = await promptTokens(body['messages'] as Json[]);
    note({ prompt, completion, held: await heldNow() });
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
    const indexes = Array.from({ length: n }, (_, index) => index);
    const finish = { finish_reason: 'length' };
    if (body['stream'] === true) {
      const chunks = indexes.map((index) => chunk({ content: 'x' }, { index, ...finish }));
      return events([...chunks, { ...chunk({}), choices: [], usage }])(exchange);
    }
    const message = { role: 'assistant', content: 'x' };
    const choices = indexes.map((index) => ({ index, message, ...finish }));
    return json({ id: 'a', object: 'chat.completion', created: 1, model: 'm', choices, usage })(exchange);
  };
}

/** The largest image of an upstream. */
const imageTokens = 16_384;

/** A prompt with other references than images counts as the whole context. */
async function promptTokens(messages: readonly Json[]): Promise<number> {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Json[]) : []));
  const images = parts.filter((part) => typeof part['image_url'] === 'object');
  if (parts.some((part) => 'video_url' in part || typeof part['image_url'] === 'string'))
    return contextTokens;
  const texts = messages.map(({ content }) =>
    typeof content === 'string' ? content : JSON.stringify(content),
  );
  const counted = 4 + (await tokens.count(texts.join('\n')));
  return Math.min(contextTokens, counted + imageTokens * images.length);
}

const limit = fc.constantFrom(null, 0, -1, 1, 7, 100, 3_000, 4_000, 5_000, 1_000_000);
const limitNames = [
  'max_tokens',
  'max_completion_tokens',
  'n_predict',
  'max_new_tokens',
  'Max_Tokens',
  'N_PREDICT',
];
const limits = fc.dictionary(fc.constantFrom(...limitNames, 'max_to\u212aens'), limit, { maxKeys: 4 });
const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.integer({ min: 1, max: 800 }).map((times) => 'some words '.repeat(times)),
);
const part = fc.oneof(
  text.map((said) => ({ type: 'text', text: said })),
  fc.constantFrom<Json>(
    { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    { type: 'image_url', image_url: 'https://example.com/a.png' },
    { video_url: { url: 'https://example.com/a.mp4' } },
    { type: 'text', text: 'see', video_url: { url: 'https://example.com/a.mp4' } },
  ),
);
const content = fc.oneof(
  { weight: 2, arbitrary: text },
  { weight: 1, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }) },
);
const requests = fc.record({
  kind: fc.constantFrom<Kind>('max_tokens', 'max_completion_tokens', 'both'),
  limits,
  contents: fc.array(content, { minLength: 1, maxLength: 3 }),
  n: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  alias: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  unknown: fc.dictionary(
    fc.constantFrom('top_k', 'x', 'Messages', 'Model', 'min_tokens'),
    fc.jsonValue({ maxDepth: 1 }),
    { maxKeys: 2 },
  ),
  wire: fc.constantFrom(...allWires),
  credits: fc.constantFrom('0.001', '0.01', '0.1', '100'),
});
type Asked = typeof requests extends fc.Arbitrary<infer T> ? T : never;

function send(parley: Parley, key: string, asked: Asked): Promise<Response> {
  const { wire, contents, n, alias, unknown } = asked;
  const others = { ...unknown, ...asked.limits, ...(alias !== undefined && { n_cmpl: alias }) };
  const counts = n === undefined ? {} : { n };
  const init = { headers: { authorization: `Bearer ${key}` } };
  if (wire === 'unary' || wire === 'server stream') {
    // A Struct has all members that the schema does not name, and the limits once more.
    const { max_tokens: named } = asked.limits;
    const messages = contents.map((content) => ({ role: 'user', content: inSchema(content) }));
    const params = {
      model: 'served',
      messages,
      ...counts,
      other: others,
      ...(named != null && { max_tokens: named }),
    };
    if (wire === 'server stream') return streamRpc(parley, key, params);
    const url = new URL('/parley.chat.v1.ChatService/CreateChatCompletion', parley.baseUrl);
    return fetch(url, {
      method: 'POST',
      body: JSON.stringify({ params }),
      headers: { ...init.headers, 'content-type': 'application/json' },
    });
  }
  if (wire === 'response' || wire === 'streamed response') {
    const input = contents.map((content) => ({ role: 'user', content: asInput(content) }));
    const body = { ...others, model: 'served', input, ...counts, stream: wire === 'streamed response' };
    return parley.postJson('/responses', body, init);
  }
  const messages = contents.map((content) => ({ role: 'user', content }));
  const body = { ...others, model: 'served', messages, ...counts, stream: wire === 'streamed' };
  return parley.postJson(path, body, init);
}

function rpcClient({ baseUrl }: Parley) {
  return createClient(ChatService, createGrpcTransport({ baseUrl: new URL(baseUrl).origin }));
}

/** Sends over gRPC, and returns the answer in the form of REST: its status, its id, and all its messages as text. */
async function streamRpc(parley: Parley, key: string, params: Json): Promise<Response> {
  const client = rpcClients.get(parley) as ReturnType<typeof rpcClient>;
  const headers = new Headers();
  const onHeader = (received: Headers) => headers.set('x-request-id', received.get('x-request-id') ?? '');
  const chunks: string[] = [];
  try {
    const stream = client.streamChatCompletion(
      { params: fromJsonString(ChatCompletionParamsSchema, JSON.stringify(params)) },
      { headers: { authorization: `Bearer ${key}` }, onHeader },
    );
    for await (const response of stream) {
      chunks.push(toJsonString(StreamChatCompletionResponseSchema, response));
    }
    return new Response(chunks.join('\n'), { headers });
  } catch (error) {
    const { code, message } = ConnectError.from(error);
    const status = { [Code.InvalidArgument]: 400, [Code.FailedPrecondition]: 402 }[code as number] ?? 500;
    return new Response(message, { status, headers });
  }
}

function asInput(content: string | Json[]): string | Json[] {
  if (typeof content === 'string') return content;
  return content.map(({ type, image_url: url, ...others }) =>
    url === undefined ? { type, ...others } : { type: 'input_image', image_url: url },
  );
}

function inSchema(content: string | Json[]): Json {
  if (typeof content === 'string') return { text: content };
  const items = content.map(({ type, text: said, ...other }) => ({
    ...(type !== undefined && { type: 'text' }),
    ...(said !== undefined && { text: said }),
    other,
  }));
  return { parts: { items } };
}

/** Shapes of requests decide holds; the database only keeps them. */
const runs = testsPostgres ? 50 : 150;

describe('a request of any shape', () => {
  it('yields no more than its hold, and every token is paid', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (asked) => {
        const parley = servers.get(asked.kind) as Parley;
        const key = await parley.newKey({ credits: asked.credits });
        const account = async () =>
          (await (await parley.call('/account', { headers: { authorization: `Bearer ${key}` } })).json()) as {
            balance_nano_credits: number;
            held_nano_credits: number;
          };
        const before = BigInt((await account()).balance_nano_credits);
        let given: Given | undefined;
        const heldNow = async () => BigInt((await account()).held_nano_credits);
        upstream.answer(
          path,
          greedy(asked.kind, heldNow, (what) => (given = what)),
        );
        const response = await send(parley, key, asked);
        const answer = await response.text();
        const { balance_nano_credits: left, held_nano_credits: held } = await account();
        expect(held).toBe(0);
        if (given === undefined) {
          expect([400, 402], answer).toContain(response.status);
          expect(BigInt(left)).toBe(before);
          return;
        }
        expect(response.status, answer).toBe(200);
        const price = BigInt(given.prompt + given.completion) * nanoPerToken;
        expect(price, 'within the hold').toBeLessThanOrEqual(given.held);
        expect(before - BigInt(left), 'paid').toBe(price);
        expect((await parley.recordOf(response)).overrun).toBeUndefined();
      }),
      { numRuns: runs, endOnFailure: true },
    );
  });
});
