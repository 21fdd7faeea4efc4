import { create } from '@bufbuild/protobuf';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  ChatCompletionSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { fakeChat, withFakes } from '../../support/fake-engines.ts';
import type { MessageChat } from '../../support/message-chat.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';

const chat = '/chat/completions';
const hello = { model: 'eliza', messages: [{ role: 'user', content: 'I am worried about my work.' }] };

interface Chunk {
  id: string;
  object: string;
  model: string;
  choices: { index: number; delta: { role?: string; content?: string }; finish_reason: string | null }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

/** The events of a streamed answer, whether it ended with [DONE], and its error, if any. */
async function readEvents(response: Response) {
  const text = await response.text();
  const data = text
    .split('\n\n')
    .filter((event) => event !== '' && !event.startsWith(':'))
    .map((event) => event.replace(/^data: /, ''));
  const isDone = data.at(-1) === '[DONE]';
  const events = (isDone ? data.slice(0, -1) : data).map((event) => JSON.parse(event));
  const error = events.find((event) => event.error)?.error;
  return { chunks: events.filter((event) => !event.error) as Chunk[], isDone, error };
}

const textOf = (chunks: Chunk[]) => chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');

const parley = await startParley();
afterAll(() => parley.close());

describe('POST /chat/completions', () => {
  const post = (body: unknown, init?: RequestInit) => parley.postJson(chat, body, init);

  it('answers with a completion and its usage, which the record repeats', async () => {
    const response = await post(hello);
    expect(response.status).toBe(200);
    const body = (await response.json()) as { usage: NonNullable<Chunk['usage']> };
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: 'eliza',
      choices: [
        { index: 0, message: { role: 'assistant', content: expect.any(String) }, finish_reason: 'stop' },
      ],
    });
    const { prompt_tokens, completion_tokens, total_tokens } = body.usage;
    expect(total_tokens).toBe(prompt_tokens + completion_tokens);
    expect(completion_tokens).toBeGreaterThan(2);
    const record = await parley.recordOf(response);
    expect(record).toMatchObject({
      operation: 'chat',
      model: 'eliza',
      state: 'ok',
      tokens: { promptTokens: prompt_tokens, completionTokens: completion_tokens, totalTokens: total_tokens },
      fairUseUnits: undefined,
    });
    expect(record.cost).toBeGreaterThan(0n);
  });

  it('streams chunks, then the finish reason with the usage, then [DONE]', async () => {
    const response = await post({ ...hello, stream: true });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const { chunks, isDone } = await readEvents(response);
    expect(isDone).toBe(true);
    expect(chunks.length).toBeGreaterThan(4);
    expect(chunks[0]?.choices[0]?.delta.role).toBe('assistant');
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    const last = chunks.at(-1);
    expect(last?.choices[0]?.finish_reason).toBe('stop');
    const { tokens } = await parley.recordOf(response);
    expect(last?.usage).toMatchObject({
      prompt_tokens: tokens?.promptTokens,
      completion_tokens: tokens?.completionTokens,
    });
    const plain = (await (await post(hello)).json()) as { choices: [{ message: { content: string } }] };
    expect(textOf(chunks)).toBe(plain.choices[0].message.content);
  });

  it('gives the usage in a separate chunk with empty choices if include_usage asks for it', async () => {
    const { chunks, isDone } = await readEvents(
      await post({ ...hello, stream: true, stream_options: { include_usage: true } }),
    );
    expect(isDone).toBe(true);
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
    expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    expect(chunks.at(-2)?.choices[0]?.finish_reason).toBe('stop');
  });

  it.each<[string, unknown, string, string | null]>([
    ['null messages', { model: 'eliza', messages: null }, 'missing_messages', 'messages'],
    ['an empty conversation', { model: 'eliza', messages: [] }, 'missing_messages', 'messages'],
    ['messages that are a text', { model: 'eliza', messages: 'hi' }, 'invalid_messages', 'messages'],
    [
      'a message without a role',
      { model: 'eliza', messages: [{ content: 'x' }] },
      'invalid_messages',
      'messages[0].role',
    ],
    [
      'content of a wrong kind',
      { model: 'eliza', messages: [{ role: 'user', content: 7 }] },
      'invalid_messages',
      'messages[0].content',
    ],
    ['a null message', { model: 'eliza', messages: [null] }, 'invalid_messages', 'messages[0]'],
    ['a model that is a number', { ...hello, model: 1 }, 'invalid_parameter', 'model'],
    ['stream in words', { ...hello, stream: 'yes' }, 'invalid_parameter', 'stream'],
    ['a list', [hello], 'invalid_request_error', null],
  ])('refuses %s', async (_, body, code, param) => {
    const error = await errorOf(await post(body));
    expect(error).toMatchObject({ status: 400, code, param });
  });

  it('accepts 100 levels of nesting, and refuses more, of any size', async () => {
    const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
    const send = (levels: number, headers = {}) => {
      const body = JSON.stringify(hello).replace('{', `{"own":${nested(levels - 1)},`);
      return parley.call(chat, { method: 'POST', body, headers });
    };
    expect((await send(100)).status).toBe(200);
    for (const levels of [101, 20_000, 1_000_000]) {
      const error = await errorOf(await send(levels, { 'idempotency-key': `nested-${levels}` }));
      expect(error).toMatchObject({ status: 400, code: 'invalid_request_error' });
      expect(error.message).toContain('100 levels');
    }
  });

  it('refuses a streamed request with a plain error, not an event', async () => {
    const response = await post({ ...hello, model: 'nope', stream: true });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await errorOf(response)).toMatchObject({ status: 400, code: 'unknown_model' });
  });

  it('refuses a body over its limit', async () => {
    const small = await startParley({ settings: { limits: { chatBodyBytesMax: 2048 } } });
    const body = { ...hello, messages: [{ role: 'user', content: 'x'.repeat(3000) }] };
    const error = await errorOf(await small.postJson(chat, body));
    expect(error).toMatchObject({ status: 413, code: 'payload_too_large' });
    await small.close();
  });

  it('cuts the answer at max_tokens exactly, with finish reason length', async () => {
    const body = (await (await post({ ...hello, max_tokens: 3 })).json()) as Record<string, never>;
    expect(body).toMatchObject({ choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 3 } });
  });
});

describe('POST /chat/completions with a scripted model', () => {
  let parley: Parley | undefined;
  afterEach(() => parley?.close());
  const start = async (engine: Partial<MessageChat>) => {
    parley = await startParley({ engines: withFakes({ chat: fakeChat(engine) }) });
    return parley;
  };
  const chunk = (content: string, finishReason?: string, usage?: { prompt: number; completion: number }) =>
    create(ChatCompletionChunkSchema, {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1n,
      choices: [{ delta: { content }, ...(finishReason && { finishReason }) }],
      ...(usage && {
        usage: {
          promptTokens: usage.prompt,
          completionTokens: usage.completion,
          totalTokens: usage.prompt + usage.completion,
        },
      }),
    });
  const streaming = (...chunks: (ChatCompletionChunk | Error)[]): Partial<MessageChat> => ({
    stream: async function* () {
      for (const item of chunks) {
        if (item instanceof Error) throw item;
        yield item;
      }
    },
  });

  it('passes every parameter on, known or not, each in its place', async () => {
    let seen: ChatCompletionParams | undefined;
    const { postJson } = await start({
      complete: async (params) => {
        seen = params;
        return create(ChatCompletionSchema, {
          choices: [
            {
              message: { role: 'assistant' },
              finishReason: 'stop',
              other: { new_field: { deep: [1.5, null] } },
            },
          ],
          other: { vendor: { x: null } },
        });
      },
    });
    const body = {
      ...hello,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x', cache: { ttl: 5 } }], priority: null }],
      temperature: 0.25,
      future_setting: { nested: { list: [1, { a: null }] } },
    };
    const answer = (await (await postJson(chat, body)).json()) as Record<string, unknown>;
    expect(seen?.temperature).toBe(0.25);
    expect(seen?.other).toEqual({ future_setting: { nested: { list: [1, { a: null }] } } });
    expect(seen?.messages[0]?.other).toEqual({ priority: null });
    expect(answer).toMatchObject({ vendor: { x: null }, choices: [{ new_field: { deep: [1.5, null] } }] });
  });

  it('counts the tokens itself if a model reports none', async () => {
    const { postJson, recordOf } = await start(streaming(chunk('one two three'), chunk('', 'stop')));
    const response = await postJson(chat, { ...hello, stream: true });
    const { chunks } = await readEvents(response);
    expect(chunks.at(-1)?.usage?.completion_tokens).toBe(3);
    expect((await recordOf(response)).tokens?.source).toBe('estimated');
  });

  it('reads usage from a chunk after the finish reason', async () => {
    const usage = create(ChatCompletionChunkSchema, {
      usage: { promptTokens: 7, completionTokens: 9, totalTokens: 16 },
    });
    const { postJson, recordOf } = await start(streaming(chunk('hi'), chunk('', 'stop'), usage));
    const response = await postJson(chat, { ...hello, stream: true });
    const { chunks, isDone } = await readEvents(response);
    expect(isDone).toBe(true);
    expect(chunks.at(-1)).toMatchObject({
      usage: { prompt_tokens: 7, completion_tokens: 9 },
      choices: [{ finish_reason: 'stop' }],
    });
    expect((await recordOf(response)).tokens).toMatchObject({ promptTokens: 7, source: 'reported' });
  });

  it('treats a negative report as none', async () => {
    const { postJson, recordOf } = await start(streaming(chunk('hi', 'stop', { prompt: -5, completion: 1 })));
    const response = await postJson(chat, { ...hello, stream: true });
    await readEvents(response);
    const { tokens } = await recordOf(response);
    expect(tokens?.source).toBe('estimated');
    expect(tokens?.promptTokens).toBeGreaterThan(0);
  });

  it('reports a failure in the middle of a stream by an error event without [DONE], and costs nothing', async () => {
    const { postJson, recordOf } = await start(streaming(chunk('some'), new ParleyError('upstream_error')));
    const response = await postJson(chat, { ...hello, stream: true });
    const { isDone, error, chunks } = await readEvents(response);
    expect(isDone).toBe(false);
    expect(error).toMatchObject({ code: 'upstream_error' });
    expect(textOf(chunks)).toBe('some');
    expect(await recordOf(response)).toMatchObject({
      state: 'failed',
      code: 'upstream_error',
      cost: undefined,
    });
  });
});
