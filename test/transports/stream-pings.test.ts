/** Streams of chats whose model takes long: they say that they live, and end as others do. */
import { fromJson } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { ChatCompletionParamsSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { startBehind } from '../support/behind-upstream.ts';
import { chunk, chunks } from '../support/chat-answers.ts';
import { type Answer, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { eventStream, events, eventText, failure, silence } from '../support/upstream-answers.ts';

const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl, { settings: { server: { streamPingMs: 30 } } });
const patient = await startBehind(upstream.baseUrl);
afterAll(async () => {
  await Promise.all([parley.close(), patient.close()]);
  await upstream.stop();
});

let go = Promise.withResolvers<void>();
afterEach(() => {
  go.resolve();
  go = Promise.withResolvers();
});
/** The answer once the test lets it go. */
const later =
  (answer: Answer): Answer =>
  async (exchange) => {
    await go.promise;
    await answer(exchange);
  };
/** One token at once, and the rest of the answer once the test lets it go. */
const halting: Answer = async (exchange) => {
  exchange.head(200, eventStream);
  const [first, ...others] = chunks('one ', 'two').map((value) => `data: ${JSON.stringify(value)}\n\n`);
  await exchange.write(`${first}${others.shift()}`);
  await go.promise;
  for (const text of others) await exchange.write(text);
  exchange.end('data: [DONE]\n\n');
};

const user = [{ role: 'user', content: 'go' }];
const comment = ': waiting\n\n';
const wires = [
  { path: '/chat/completions', body: { messages: user }, ping: comment, error: '"error":{' },
  { path: '/completions', body: { prompt: 'go' }, ping: comment, error: '"error":{' },
  { path: '/responses', body: { input: 'go' }, ping: comment, error: 'event: response.failed\n' },
  {
    path: '/messages',
    body: { messages: user, max_tokens: 10 },
    ping: 'event: ping\ndata: {"type":"ping"}\n\n',
    error: 'event: error\n',
  },
];

/** Reads a stream piece by piece. */
function reading(response: Response) {
  const pieces = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const until = async (isEnough: (text: string) => boolean) => {
    while (!isEnough(text)) {
      const step = await pieces?.read();
      if (!step || step.done) return text;
      text += step.value;
    }
    return text;
  };
  const count = (part: string) => text.split(part).length - 1;
  return { until, count, rest: () => until(() => false), leave: () => pieces?.cancel() };
}

const lastRecord = async (server = parley) =>
  (await server.app.store.usage.list({}, { size: 1, after: undefined })).items[0];

describe.each(wires)('$path', ({ path, body, ping, error }) => {
  const ask = (server = parley) => server.postJson(path, { model: 'served', stream: true, ...body });
  const pinged = (text: string) => text.split(ping).length > 2;

  it('has its head and pings before the upstream answers', async () => {
    upstream.answer('/chat/completions', later(events(chunks('one ', 'two'))));
    const response = await ask();
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    const stream = reading(response);
    await stream.until(pinged);
    go.resolve();
    expect(await stream.rest()).toMatch(/one [\s\S]*two/);
    expect(await lastRecord()).toMatchObject({ state: 'ok', tokens: { completionTokens: 4 } });
  });

  it('has pings in its middle', async () => {
    upstream.answer('/chat/completions', halting);
    const stream = reading(await ask());
    await stream.until((text) => text.includes('one ') && pinged(text.slice(text.indexOf('one '))));
    go.resolve();
    expect(await stream.rest()).toContain('two');
    expect(await lastRecord()).toMatchObject({ state: 'ok', tokens: { completionTokens: 4 } });
  });

  it('ends with an error after pings, free of charge', async () => {
    upstream.answer('/chat/completions', later(failure(429)));
    const stream = reading(await ask());
    await stream.until(pinged);
    go.resolve();
    const text = await stream.rest();
    expect(text).toContain(error);
    expect(text).not.toContain('[DONE]');
    const failed = { state: 'failed', code: 'upstream_error', httpStatus: 429, cost: undefined };
    expect(await lastRecord()).toMatchObject(failed);
  });

  it('costs nothing if the client leaves after pings alone', async () => {
    upstream.answer('/chat/completions', silence);
    const stream = reading(await ask());
    await stream.until(pinged);
    await stream.leave();
    await upstream.requests.at(-1)?.aborted;
    await expect.poll(() => lastRecord()).toMatchObject({ state: 'cancelled', cost: undefined });
  });

  it('has its head soon after that of the upstream', async () => {
    const begun = eventText([': processing\n\n'], { ending: 'stall' });
    upstream.answer('/chat/completions', silence, begun);
    // Without a head of its upstream, that of the first leaves after 2 seconds.
    const calls = upstream.requests.length;
    const first = ask(patient);
    await expect.poll(() => upstream.requests.length).toBe(calls + 1);
    const second = ask(patient);
    expect(await Promise.race([first.then(() => 'first'), second.then(() => 'second')])).toBe('second');
    for (const response of [first, second]) await (await response).body?.cancel();
  });

  it('has the status of an error that is the whole answer of the upstream', async () => {
    const overloaded = { error: { message: 'busy', code: 'context_length_exceeded' } };
    upstream.answer('/chat/completions', events([overloaded], { done: false }));
    expect((await ask(patient)).status).toBe(400);
  });
});

it('settles once, whatever comes between pings and an upstream that breaks off', async () => {
  upstream.answer('/chat/completions', later(events([chunk({ content: 'one' })], { done: false })));
  const stream = reading(
    await parley.postJson('/chat/completions', { model: 'served', stream: true, messages: user }),
  );
  await stream.until((text) => text.includes(comment));
  go.resolve();
  const text = await stream.rest();
  expect([text.includes('"error":{'), text.includes('[DONE]')]).toEqual([true, false]);
  expect(await lastRecord()).toMatchObject({ state: 'failed', cost: undefined });
});

const transports = {
  gRPC: createGrpcTransport,
  'gRPC-Web': (options: { baseUrl: string }) => createGrpcWebTransport({ ...options, httpVersion: '1.1' }),
  'Connect over HTTP/1.1': (options: { baseUrl: string }) =>
    createConnectTransport({ ...options, httpVersion: '1.1' }),
  'Connect over HTTP/2': (options: { baseUrl: string }) =>
    createConnectTransport({ ...options, httpVersion: '2', useBinaryFormat: false }),
};

describe.each(Object.entries(transports))('%s', (_wire, transportTo) => {
  it.each([
    ['an answer', events(chunks('one ', 'two')), 'one two', 'ok'],
    ['an error', failure(429), /engine behind this model/, 'failed'],
  ] as const)('has its head before %s', async (_, answer, expected, state) => {
    upstream.answer('/chat/completions', later(answer));
    const { origin: baseUrl } = new URL(parley.baseUrl);
    const params = fromJson(ChatCompletionParamsSchema, {
      model: 'served',
      messages: [{ role: 'user', content: { text: 'go' } }],
    });
    const head = Promise.withResolvers<unknown>();
    const client = createClient(ChatService, transportTo({ baseUrl }));
    const read = async () => {
      const headers = { authorization: `Bearer ${parley.apiKey}` };
      let text = '';
      for await (const part of client.streamChatCompletion({ params }, { headers, onHeader: head.resolve })) {
        text += part.chunk?.choices[0]?.delta?.content ?? '';
      }
      return text;
    };
    const text = read().catch(({ message }: Error) => message);
    await head.promise;
    go.resolve();
    expect(await text).toMatch(expected);
    expect(await lastRecord()).toMatchObject({ state });
  });
});
