/** Traces: one span per request, which continues the client's trace and is sent to upstreams. */
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ChatService } from '../../gen/parley/chat/v1/chat_service_pb.ts';
import { startBehind } from '../support/behind-upstream.ts';
import { chunks, completion, question, readEvents } from '../support/chat-answers.ts';
import { fakeTranscription, withFakes } from '../support/fake-engines.ts';
import { LiveClient } from '../support/live-client.ts';
import { Ear } from '../support/live-ear.ts';
import { bearer, type Parley, startParley } from '../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { events, failure, json, silence } from '../support/upstream-answers.ts';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly spanId: string;
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
  readonly status: { readonly code?: number };
}

/** A collector of traces. */
async function startCollector(status = 200) {
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()).toString());
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const spans = (): Span[] =>
    bodies.flatMap((body) =>
      JSON.parse(body).resourceSpans.flatMap((resource: { scopeSpans: { spans: Span[] }[] }) =>
        resource.scopeSpans.flatMap((scope) => scope.spans),
      ),
    );
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    bodies,
    spans,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const path = '/chat/completions';
const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
const secretPrompt = 'the prompt that nobody else may read';

/** The attributes of a span, by name. */
const attribute = ({ attributes }: Span, name: string) =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];

describe('traces', () => {
  let collector: Awaited<ReturnType<typeof startCollector>>;
  let upstream: ScriptedUpstream;
  let parley: Parley;
  beforeAll(async () => {
    collector = await startCollector();
    upstream = await startScriptedUpstream();
    parley = await startBehind(upstream.baseUrl, { settings: { tracing: { endpoint: collector.endpoint } } });
    upstream.answer(path, json(completion()));
    const messages = [{ role: 'user', content: secretPrompt }];
    const traced = { headers: { ...bearer(parley.apiKey).headers, traceparent } };
    await parley.postJson(path, { model: 'served', messages }, traced);
    upstream.answer(path, events(chunks('a', 'b')));
    await readEvents(await parley.postJson(path, { ...question, stream: true }, traced));
    upstream.answer(path, failure(500));
    await parley.postJson(path, question);
    upstream.answer(path, events(chunks('a', 'b')));
    const { origin } = new URL(parley.baseUrl);
    for (const transport of [
      createGrpcTransport({ baseUrl: origin }),
      createConnectTransport({ baseUrl: origin, httpVersion: '1.1' }),
    ]) {
      const client = createClient(ChatService, transport);
      const params = {
        model: 'served',
        messages: [{ role: 'user', content: { value: { case: 'text' as const, value: 'hi' } } }],
      };
      const headers = { authorization: `Bearer ${parley.apiKey}`, traceparent };
      for await (const _ of client.streamChatCompletion({ params }, { headers }));
    }
    await parley.close();
  });
  afterAll(async () => {
    await upstream.stop();
    collector.close();
  });

  it('have one span per request, on every wire, with the facts of its usage record', () => {
    const spans = collector.spans();
    expect(spans.map(({ name }) => name)).toEqual([
      'POST /api/v1/chat/completions',
      'POST /api/v1/chat/completions',
      'POST /api/v1/chat/completions',
      'parley.chat.v1.ChatService/StreamChatCompletion',
      'parley.chat.v1.ChatService/StreamChatCompletion',
    ]);
    expect(spans.map((span) => attribute(span, 'parley.wire'))).toEqual([
      'rest',
      'rest',
      'rest',
      'grpc',
      'connect',
    ]);
    expect(spans.map((span) => attribute(span, 'parley.state'))).toEqual(['ok', 'ok', 'failed', 'ok', 'ok']);
    const [first] = spans;
    if (first === undefined) return;
    expect(attribute(first, 'gen_ai.request.model')).toBe('served');
    expect(attribute(first, 'parley.request_id')).toMatch(/^req_/);
    expect(Number(attribute(first, 'gen_ai.usage.output_tokens'))).toBe(4);
    expect(spans[2]?.status.code).toBe(2);
  });

  it('continue the trace of the client, or begin one', () => {
    const spans = collector.spans();
    expect(spans.map((span) => span.traceId === traceId)).toEqual([true, true, false, true, true]);
    expect(spans[0]?.parentSpanId).toBe('b7ad6b7169203331');
  });

  it('are sent to the upstream, with the span of the request as parent', () => {
    const told = upstream.requests.map(({ headers }) => headers['traceparent']);
    const spans = collector.spans();
    expect(told).toEqual(spans.map((span) => `00-${span.traceId}-${span.spanId}-01`));
  });

  it('contain no key, prompt or answer', () => {
    const sent = collector.bodies.join('');
    for (const secret of [secretPrompt, parley.apiKey, 'hello there', 'sk-of-the-upstream']) {
      expect(sent).not.toContain(secret);
    }
  });
});

describe('a collector that refuses the traces', () => {
  it('does not fail the stop of the server, and is logged', async () => {
    const collector = await startCollector(400);
    const warned: string[] = [];
    const log = { info() {}, error() {}, warn: (_: object, message: string) => void warned.push(message) };
    const parley = await startParley({ settings: { tracing: { endpoint: collector.endpoint } }, log });
    await parley.call('/models');
    await parley.close();
    collector.close();
    expect(collector.bodies.length).toBe(1);
    expect(warned).toEqual(['the last traces could not be sent']);
  });
});

/** Disconnects once the server asks for the body. */
function leaveInUpload({ baseUrl, apiKey }: Parley): Promise<void> {
  const headers = { authorization: `Bearer ${apiKey}`, 'content-length': 1_000, expect: '100-continue' };
  const upload = request(baseUrl + path, { method: 'POST', headers });
  upload.on('error', () => undefined);
  upload.on('continue', () => upload.destroy());
  upload.flushHeaders();
  return new Promise((resolve) => upload.on('close', resolve));
}

it('a span is an error only if the server failed, not if it refused a request or the client left', async () => {
  const collector = await startCollector();
  const upstream = await startScriptedUpstream();
  const parley = await startBehind(upstream.baseUrl, {
    settings: { tracing: { endpoint: collector.endpoint } },
    engine: { retriesMax: 0 },
  });
  try {
    await parley.postJson(path, { ...question, model: 'nope' });
    const baseUrl = new URL(parley.baseUrl).origin;
    const headers = { authorization: `Bearer ${parley.apiKey}` };
    const client = createClient(ChatService, createConnectTransport({ baseUrl, httpVersion: '1.1' }));
    const refused = client.streamChatCompletion({ params: {} }, { headers })[Symbol.asyncIterator]();
    await expect(refused.next()).rejects.toThrow('model');
    await leaveInUpload(parley);
    upstream.answer(path, silence);
    const leave = AbortSignal.timeout(300);
    await expect(parley.postJson(path, question, { signal: leave })).rejects.toThrow();
    upstream.answer(path, failure(500));
    await parley.postJson(path, question);
    await parley.close();
    const told = collector
      .spans()
      .map((span): [unknown, boolean] => [attribute(span, 'error.type'), span.status.code === 2]);
    expect(told.sort()).toEqual([
      ['missing_model', false],
      ['request_cancelled', false],
      ['request_cancelled', false],
      ['unknown_model', false],
      ['upstream_error', true],
    ]);
  } finally {
    await upstream.stop();
    collector.close();
  }
});

it('a turn of live speech is a span within that of its session', async () => {
  const collector = await startCollector();
  const transcription = fakeTranscription({ openSpeaker: () => new Ear().openSpeaker() });
  const parley = await startParley({
    settings: { tracing: { endpoint: collector.endpoint } },
    engines: withFakes({ transcription }),
  });
  const client = new LiveClient(parley);
  client.configure();
  for (let turn = 1; turn <= 2; turn++) {
    client.speak(new Int16Array(16_000));
    client.commit();
    await client.next('turn', turn);
  }
  await client.finish();
  await parley.close();
  collector.close();
  const session = collector.spans().find(({ name }) => name.endsWith('StreamTranscribe'));
  const turns = collector.spans().filter(({ name }) => name === 'turn');
  expect(turns.map(({ traceId: trace, parentSpanId }) => [trace, parentSpanId])).toEqual([
    [session?.traceId, session?.spanId],
    [session?.traceId, session?.spanId],
  ]);
  const ids = client.all('turn').map(({ requestId }) => requestId);
  expect(turns.map((span) => attribute(span, 'parley.request_id'))).toEqual(ids);
  expect(session && attribute(session, 'parley.request_id')).not.toBe(ids[1]);
});
