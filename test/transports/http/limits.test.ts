/** Limits of the port in time, bytes and numbers. A client within the limits is never cut off. */
import { once } from 'node:events';
import { constants, type OutgoingHttpHeaders } from 'node:http2';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { create, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Health } from '../../../gen/health/v1/health_pb.ts';
import { TranscriptionService } from '../../../gen/parley/audio/v1/transcription_service_pb.ts';
import { CatalogService } from '../../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ChatService } from '../../../gen/parley/chat/v1/chat_service_pb.ts';
import { SynthesizeSpeechRequestSchema } from '../../../gen/parley/speech/v1/speech_pb.ts';
import {
  bigAnswerBytes,
  chatBody,
  inTime,
  LimitedPort,
  limits,
  sleep,
  speechBody,
} from '../../support/limited-port.ts';
import { peakBufferBytes } from '../../support/live-memory.ts';
import { type Parley, startParley } from '../../support/parley.ts';
import {
  data,
  endHeaders,
  endStream,
  frame,
  frameTypes,
  type HeaderList,
  headerBlock,
  initialWindowSize,
  preface,
  type RawHttp2,
  type RequestFrame,
  request,
  requestHeaders,
  settings,
  windowUpdate,
} from '../../support/raw-http2.ts';

const {
  NGHTTP2_NO_ERROR: noError,
  NGHTTP2_CANCEL: cancel,
  NGHTTP2_ENHANCE_YOUR_CALM: enhanceYourCalm,
} = constants;

let port: LimitedPort;
let authorization: string;
let origin: string;
beforeAll(async () => {
  port = await LimitedPort.start();
  ({ authorization, origin } = port);
});
afterAll(() => port.parley.close());
afterEach(() => port.isWell());

const grpcType: HeaderList = [['content-type', 'application/grpc']];
const inEvents = { ...chatBody, stream: true };

describe('the port ends a request', () => {
  const isEnded = (client: RawHttp2, streamId: number, what: string) =>
    expect.poll(() => client.resetCode(streamId), { ...inTime, message: what }).toBe(cancel);

  it('whose body does not arrive, and no other', async () => {
    const client = await port.openHttp2();
    const path = '/parley.catalog.v1.CatalogService/ListModels';
    const cases: [string, RequestFrame][] = [
      ['REST', { path: '/api/v1/chat/completions' }],
      ['gRPC', { path, headers: grpcType }],
      ['Connect', { path, headers: [['content-type', 'application/proto']] }],
    ];
    const endings = cases.map(async ([wire, { headers = [], ...options }], index) => {
      const all: HeaderList = [...headers, ['authorization', authorization]];
      const streamId = 1 + 2 * index;
      await client.write(request(streamId, { ...options, method: 'POST', headers: all, flags: endHeaders }));
      await isEnded(client, streamId, wire);
    });
    await Promise.all(endings);
    await client.write(request(11));
    await expect.poll(() => client.received(frameTypes.headers, 11).length, inTime).toBe(1);
  });

  it('that was answered but does not end, and the answer stays valid', async () => {
    const client = await port.openHttp2();
    const path = '/parley.catalog.v1.CatalogService/ListModels';
    const tooLarge = Buffer.from([0, 0x7f, 0xff, 0xff, 0xff]);
    await client.write(
      request(1, { path, method: 'POST', headers: grpcType, flags: endHeaders }),
      data(1, tooLarge),
    );
    // The head of the answer and its trailers.
    await expect.poll(() => client.received(frameTypes.headers, 1).length, inTime).toBe(2);
    await expect.poll(() => client.resetCode(1), inTime).toBe(noError);
  });

  it('whose client does not read, over HTTP/2', async () => {
    const start = Buffer.concat([preface, settings([initialWindowSize, 0])]);
    const client = await port.openHttp2({ start });
    const cases: [string, (streamId: number) => Buffer][] = [
      ['REST, whole', (id) => port.http2Post(id, '/chat/completions', chatBody)],
      ['REST, audio', (id) => port.http2Post(id, '/audio/speech', speechBody)],
      ['REST, events', (id) => port.http2Post(id, '/chat/completions', inEvents)],
      ['gRPC, whole', (id) => grpcCall(id, 'catalog.v1.CatalogService/ListModels', Buffer.alloc(0))],
      ['gRPC, a stream', (id) => grpcCall(id, 'speech.v1.SpeechService/SynthesizeSpeech', speechMessage)],
    ];
    const endings = cases.map(async ([what, ask], index) => {
      const streamId = 1 + 2 * index;
      await client.write(ask(streamId));
      await isEnded(client, streamId, what);
      expect(client.received(frameTypes.headers, streamId).length).toBe(1);
    });
    await Promise.all(endings);
    await expect.poll(() => port.speaking, inTime).toBe(0);
    expect(client.isClosed).toBe(false);
  });

  const speechMessage = toBinary(
    SynthesizeSpeechRequestSchema,
    create(SynthesizeSpeechRequestSchema, { model: 'flite', input: 'Hello.', responseFormat: 'pcm' }),
  );
  const grpcCall = (streamId: number, method: string, message: Uint8Array) => {
    const headers: HeaderList = [...grpcType, ['authorization', authorization]];
    const length = Buffer.alloc(5);
    length.writeUInt32BE(message.length, 1);
    return Buffer.concat([
      request(streamId, { method: 'POST', path: `/parley.${method}`, flags: endHeaders, headers }),
      data(streamId, Buffer.concat([length, message]), endStream),
    ]);
  };

  it('whose client does not read, over HTTP/1', async () => {
    const cases: [string, object][] = [
      ['/chat/completions', chatBody],
      ['/audio/speech', speechBody],
    ];
    const ask = async ([path, body]: [string, object]) => {
      const client = await port.openHttp1();
      // On a busy machine the port may end the connection before anything is read.
      const begun = Promise.race([once(client.socket, 'data'), once(client.socket, 'close')]).catch(
        () => undefined,
      );
      await client.write(port.http1Post(path, body));
      await begun;
      client.socket.pause();
      // A timer starts again if the system still accepts bytes.
      await sleep(6 * limits.stallMsMax);
      client.socket.resume();
      await expect.poll(() => client.isClosed, { ...inTime, message: path }).toBe(true);
      expect(client.received.length).toBeLessThan(bigAnswerBytes);
    };
    expect(await peakBufferBytes(() => Promise.all(cases.map(ask)))).toBeLessThan(300_000_000);
    await expect.poll(() => port.speaking, inTime).toBe(0);
  });

  it.each([
    ['pings', [frameTypes.settings]],
    ['the settings', [frameTypes.ping]],
  ])('with the connection, if its client does not answer %s', async (_, answers) => {
    const client = await port.openHttp2({ answers });
    await client.write(port.http2Post(1, '/chat/completions', inEvents));
    await expect.poll(() => client.isClosed, inTime).toBe(true);
    expect(
      client
        .received(frameTypes.data, 1)
        .map(({ payload }) => `${payload}`)
        .join(),
    ).not.toContain('[DONE]');
  });

  it('with its connection, if the client has stopped reading', async () => {
    const client = await port.openHttp2();
    await client.write(port.http2Post(1, '/audio/speech', speechBody));
    await expect.poll(() => port.speaking, inTime).toBe(1);
    client.socket.pause();
    await expect.poll(() => port.speaking, inTime).toBe(0);
  });

  it('with the connection if malformed data follows, without a second answer in the middle of the first', async () => {
    const client = await port.openHttp1();
    await client.write(port.http1Post('/audio/speech', speechBody));
    await expect.poll(() => client.received, inTime).toContain('200 OK');
    await client.write('nonsense\r\n\r\n');
    await expect.poll(() => client.isClosed, inTime).toBe(true);
    expect(client.received).not.toContain('HTTP/1.1 400');
  });
});

describe('the port does not end', () => {
  it('whose client reads slowly, but reads', async () => {
    const start = Buffer.concat([preface, settings([initialWindowSize, 0])]);
    const client = await port.openHttp2({ start });
    await client.write(port.http2Post(1, '/audio/speech', speechBody));
    const until = Date.now() + 3 * limits.stallMsMax;
    while (Date.now() < until) {
      await client.write(windowUpdate(0, 24_576), windowUpdate(1, 24_576));
      await sleep(200);
    }
    expect(client.resetCode(1)).toBeUndefined();
    const parts = client.received(frameTypes.data, 1).map(({ payload }) => payload.length);
    expect(parts.reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(50_000);
  });

  it('whose engine is silent for longer than a client or an idle connection may be', async () => {
    const rest = [
      eventsOverHttp2(),
      port.parley.postJson('/chat/completions', inEvents).then((answer) => answer.text()),
    ];
    const rpc = [
      createGrpcTransport({ baseUrl: origin }),
      createConnectTransport({ baseUrl: origin, httpVersion: '2' }),
      createConnectTransport({ baseUrl: origin, httpVersion: '1.1' }),
    ].map(chatOver);
    for (const events of await Promise.all(rest)) expect(events).toMatch(/data: \[DONE\]\n\n$/);
    for (const chunks of await Promise.all(rpc)) expect(chunks.at(-1)?.usage?.totalTokens).toBe(9);
  });

  const eventsOverHttp2 = async () => {
    const path = '/api/v1/chat/completions';
    const session = port.openSession();
    const goaways: unknown[] = [];
    session.on('goaway', (code) => goaways.push(code));
    const stream = session.request({ ':method': 'POST', ':path': path, authorization });
    stream.end(JSON.stringify(inEvents));
    const events = await text(stream);
    expect(goaways).toEqual([]);
    return events;
  };
  const chatOver = async (transport: Transport) => {
    const content = { value: { case: 'text' as const, value: 'hello' } };
    const params = { model: 'eliza', messages: [{ role: 'user', content }] };
    const headers = { authorization };
    const chunks = [];
    for await (const { chunk } of createClient(ChatService, transport).streamChatCompletion(
      { params },
      { headers },
    )) {
      chunks.push(chunk);
    }
    return chunks;
  };
});

it('the port closes an HTTP/2 connection that is idle after a request of any kind, with a GOAWAY', async () => {
  const path = '/parley.catalog.v1.CatalogService/ListModels';
  const cases: OutgoingHttpHeaders[] = [
    { ':path': '/api/v1/models' },
    { ':path': path, ':method': 'POST', 'content-type': 'application/json' },
    { ':path': path, ':method': 'POST', 'content-type': 'application/grpc' },
  ];
  const closings = cases.map(async (asked) => {
    const session = port.openSession();
    const goaway = once(session, 'goaway');
    const stream = session.request({ ...asked, authorization });
    stream.end();
    const [headers] = await once(stream.resume(), 'response');
    expect(headers[':status']).toBeGreaterThanOrEqual(200);
    const [code] = await goaway;
    expect(code).toBe(0);
    await expect.poll(() => session.closed, inTime).toBe(true);
  });
  await Promise.all(closings);
});

describe('the port accepts no more than', () => {
  const many = (count: number): HeaderList =>
    Array.from({ length: count }, (_, index) => [`x-${index}`, '1']);

  it.each<[string, HeaderList, HeaderList]>([
    ['100 headers', many(98), many(99)],
    ['16 KiB of headers', [['x-a', 'b'.repeat(15_000)]], [['x-a', 'b'.repeat(17_000)]]],
  ])('%s, over HTTP/1', async (_, enough, tooMany) => {
    const answerTo = async (headers: HeaderList) => {
      const client = await port.openHttp1();
      const own: HeaderList = [
        ['host', 'x'],
        ['authorization', authorization],
      ];
      const lines = [...own, ...headers].map((header) => header.join(': '));
      await client.write(`GET /api/v1/models HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      return client.answer();
    };
    expect((await answerTo(enough)).status).toBe(200);
    const refused = await answerTo(tooMany);
    expect(refused.status).toBe(431);
    expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'invalid_request_error' } });
  });

  it.each<[string, HeaderList, HeaderList]>([
    ['100 headers', many(98), many(99)],
    ['16 KiB of headers', [['x-a', 'b'.repeat(15_000)]], [['x-a', 'b'.repeat(17_000)]]],
  ])('%s, over HTTP/2', async (_, enough, tooMany) => {
    const client = await port.openHttp2();
    await expect.poll(() => client.received(frameTypes.settings).length, inTime).toBe(2);
    await client.write(inFrames(1, enough), inFrames(3, tooMany));
    await expect.poll(() => client.resetCode(3), inTime).toBe(enhanceYourCalm);
    await expect.poll(() => client.received(frameTypes.headers, 1).length, inTime).toBe(1);
  });

  /** A request in frames of at most 16 KiB. */
  const inFrames = (streamId: number, headers: HeaderList) => {
    const own: HeaderList = [['authorization', authorization]];
    const block = headerBlock(requestHeaders('GET', '/api/v1/models', [...own, ...headers]));
    const [first, rest] = [block.subarray(0, 16_384), block.subarray(16_384)];
    if (rest.length === 0) return frame(frameTypes.headers, endHeaders | endStream, streamId, first);
    return Buffer.concat([
      frame(frameTypes.headers, endStream, streamId, first),
      frame(frameTypes.continuation, endHeaders, streamId, rest),
    ]);
  };

  it('its limit of requests at once on a connection, and refuses more', async () => {
    const client = await port.openHttp2();
    const { streamsPerConnectionMax } = limits;
    const ids = Array.from({ length: streamsPerConnectionMax + 5 }, (_, index) => 1 + 2 * index);
    await client.write(...ids.map((id) => port.http2Post(id, '/audio/speech', speechBody)));
    const refused = () => client.received(frameTypes.resetStream).map(({ streamId }) => streamId);
    await expect.poll(refused, inTime).toEqual(ids.slice(-5));
    await expect.poll(() => port.speaking, inTime).toBe(streamsPerConnectionMax);
  });

  it('its limit of connections, of all protocols together, and accepts the next when one leaves', async () => {
    const { connectionsMax } = limits;
    const path = '/audio/speech';
    const open = async (index: number) => {
      if (index % 2 === 0) {
        const client = await port.openHttp1();
        await client.write(port.http1Post(path, speechBody));
        return client;
      }
      const client = await port.openHttp2();
      await client.write(port.http2Post(1, path, speechBody));
      return client;
    };
    const all = await Promise.all(Array.from({ length: connectionsMax }, (_, index) => open(index)));
    // Without a valid key, one of them would be closed to make room.
    await expect.poll(() => port.speaking, inTime).toBe(connectionsMax);
    const further = await port.openHttp1();
    await expect.poll(() => further.isClosed, inTime).toBe(true);
    expect(all.filter(({ isClosed }) => isClosed)).toEqual([]);
    all[1]?.close();
    await expect.poll(() => port.status(), inTime).toBe(200);
  });
});

describe('a message of an RPC', () => {
  /** The smallest valid setting, which is shorter than Node's client keeps a connection. */
  const rpcMessageBytesMax = 4_200_000;
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley({
      settings: { limits: { rpcMessageBytesMax }, server: { stallMsMax: 1000 } },
    });
  });
  afterAll(() => parley.close());

  it.each([
    ['gRPC', createGrpcTransport],
    ['Connect', createConnectTransport],
    ['gRPC-Web', createGrpcWebTransport],
  ])('may not exceed its limit over %s, compressed or not', async (_, transportOf) => {
    for (const compression of [{}, { sendCompression: compressionGzip }]) {
      const { origin: baseUrl } = new URL(parley.baseUrl);
      const client = createClient(
        TranscriptionService,
        transportOf({ baseUrl, httpVersion: '2', ...compression }),
      );
      const headers = { authorization: `Bearer ${parley.apiKey}` };
      const sent = client.createTranscription(
        { file: new Uint8Array(1.5 * rpcMessageBytesMax) },
        { headers },
      );
      const error = await sent.then(() => undefined, ConnectError.from);
      expect(error?.code).toBe(Code.ResourceExhausted);
    }
  });

  it.each([
    ['gRPC', createGrpcTransport],
    ['Connect', createConnectTransport],
    ['gRPC-Web', createGrpcWebTransport],
  ])('may have 64 KiB over %s if it holds only names, ids and dates', async (_, transportOf) => {
    const { origin: baseUrl } = new URL(parley.baseUrl);
    const transport = transportOf({ baseUrl, httpVersion: '2' });
    const headers = { authorization: `Bearer ${parley.apiKey}` };
    const long = 'x'.repeat(70_000);
    const models = createClient(CatalogService, transport).listModels({ type: long }, { headers });
    const health = createClient(Health, transport).check({ service: long });
    const answers = [models, health].map((answer) => answer.then(() => undefined, ConnectError.from));
    for (const error of await Promise.all(answers)) expect(error?.code).toBe(Code.ResourceExhausted);
  });

  /** This many megabytes of zeros as gzip, one member for each. */
  const bombOf = (megabytes: number) => {
    const member = gzipSync(Buffer.alloc(1_000_000));
    return Buffer.concat(Array.from({ length: megabytes }, () => member));
  };

  it('uses no more memory than its limit, however well it is compressed', async () => {
    const body = new Uint8Array(bombOf(500));
    const path = '/parley.catalog.v1.CatalogService/ListModels';
    const headers = {
      authorization: `Bearer ${parley.apiKey}`,
      'content-type': 'application/proto',
      'content-encoding': 'gzip',
    };
    const send = async () => {
      const response = await fetch(new URL(path, parley.baseUrl), { method: 'POST', headers, body });
      expect(response.status).toBe(429);
    };
    expect(await peakBufferBytes(send)).toBeLessThan(100_000_000);
  });

  it('has no more memory in an upload than the whole upload may have', async () => {
    const message = gzipSync(Buffer.alloc(19_000_000));
    const head = Buffer.from([1, 0, 0, 0, 0]);
    head.writeUInt32BE(message.length, 1);
    const headers = {
      authorization: `Bearer ${port.parley.apiKey}`,
      'content-type': 'application/connect+proto',
      'connect-content-encoding': 'gzip',
    };
    const url = new URL('/parley.audio.v1.TranscriptionService/UploadTranscription', port.parley.baseUrl);
    const send = async () => {
      const response = await fetch(url, { method: 'POST', headers, body: Buffer.concat([head, message]) });
      expect(await response.text()).toContain('resource_exhausted');
    };
    expect(await peakBufferBytes(() => Promise.all(Array.from({ length: 8 }, send)))).toBeLessThan(
      100_000_000,
    );
  });
});

describe('the port sends 100 Continue for a body that waits for it', () => {
  const path = '/parley.catalog.v1.CatalogService/ListModels';

  it('over HTTP/1', async () => {
    const client = await port.openHttp1();
    const head = [
      `POST ${path} HTTP/1.1`,
      'host: x',
      `authorization: ${authorization}`,
      'content-type: application/json',
      'content-length: 2',
      'expect: 100-continue',
    ];
    await client.write(`${head.join('\r\n')}\r\n\r\n`);
    expect((await client.answer()).status).toBe(100);
    await client.write('{}');
    expect((await client.answer()).status).toBe(200);
  });

  it.each([
    ['REST', '/api/v1/chat/completions', JSON.stringify(inEvents)],
    ['Connect', path, '{}'],
  ])('over HTTP/2: %s', async (_, to, body) => {
    const stream = port
      .openSession()
      .request({
        ':method': 'POST',
        ':path': to,
        authorization,
        'content-type': 'application/json',
        expect: '100-continue',
      });
    await once(stream, 'continue');
    stream.end(body);
    const [headers] = await once(stream, 'response');
    expect(headers[':status']).toBe(200);
    stream.close(cancel);
  });
});
