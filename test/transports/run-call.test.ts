/** The order of a request on every transport: headers, gate, body, function, and the end of its record. */
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { KeyStore } from '../../src/core/entities/key.ts';
import type { Store } from '../../src/core/entities/store.ts';
import { openStore } from '../../src/store/sqlite/open-store.ts';
import { startConnected } from '../support/connected-parley.ts';
import { withFakes } from '../support/fake-engines.ts';
import { RawClient } from '../support/raw-http.ts';
import { data, endHeaders, RawHttp2, request, resetStream } from '../support/raw-http2.ts';

const chat = '/parley.chat.v1.ChatService/CreateChatCompletion';
const streamedChat = '/parley.chat.v1.ChatService/StreamChatCompletion';
const upload = '/parley.audio.v1.TranscriptionService/UploadTranscription';

/** A message in its envelope, as gRPC, gRPC-Web and Connect's streams send it. */
function enveloped(message: Buffer, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const noMessage = Buffer.from([0xff, 0xff, 0xff]);
/** The flag of a compressed message. */
const compressed = 1;

interface Wire {
  readonly name: string;
  readonly path: string;
  readonly contentType: string;
  /** The header that names the compression of the body. */
  readonly encoding: string;
  readonly body: (message: Buffer, flags?: number) => Buffer;
  /** The refusal of a key: in trailers, in a body that is a frame of trailers, or in JSON. */
  readonly refusal: RegExp;
  readonly operation: string;
}

const grpc = { contentType: 'application/grpc', encoding: 'grpc-encoding', body: enveloped };
const grpcWeb = { ...grpc, contentType: 'application/grpc-web+proto' };
const connectUnary = {
  contentType: 'application/proto',
  encoding: 'content-encoding',
  body: (message: Buffer) => message,
};
const connectStream = {
  contentType: 'application/connect+proto',
  encoding: 'connect-content-encoding',
  body: enveloped,
};
const unauthenticated = /"code":"unauthenticated"/;

const wires: readonly Wire[] = [
  { name: 'gRPC', path: chat, ...grpc, refusal: /"grpc-status":"16"/, operation: 'chat' },
  { name: 'gRPC, streamed', path: streamedChat, ...grpc, refusal: /"grpc-status":"16"/, operation: 'chat' },
  { name: 'gRPC, upload', path: upload, ...grpc, refusal: /"grpc-status":"16"/, operation: 'transcription' },
  { name: 'gRPC-Web', path: chat, ...grpcWeb, refusal: /grpc-status"?: ?"?16/, operation: 'chat' },
  { name: 'Connect', path: chat, ...connectUnary, refusal: unauthenticated, operation: 'chat' },
  {
    name: 'Connect, streamed',
    path: streamedChat,
    ...connectStream,
    refusal: unauthenticated,
    operation: 'chat',
  },
  {
    name: 'Connect, upload',
    path: upload,
    ...connectStream,
    refusal: unauthenticated,
    operation: 'transcription',
  },
];

/** Delays each look-up of a key until it is released. */
class HeldGate {
  asked = 0;
  #held: PromiseWithResolvers<void> | undefined;

  hold(): void {
    this.#held = Promise.withResolvers();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = undefined;
  }

  store(store: Store): Store {
    const find: KeyStore['find'] = async (hash) => {
      this.asked++;
      await this.#held?.promise;
      return store.keys.find(hash);
    };
    return { ...store, keys: { ...store.keys, find } };
  }
}

const gate = new HeldGate();
const log = { info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const { parley, session, close } = await startConnected({
  log,
  engines: withFakes({}),
  openStore: async (dataDir) => gate.store(await openStore(dataDir)),
});
afterAll(close);
afterEach(() => vi.clearAllMocks());

interface Sent {
  readonly key?: string;
  readonly headers?: Record<string, string>;
  readonly body: Buffer;
  /** Whether the body ends there. */
  readonly ends: boolean;
}

/** Resolves to headers, body and trailers of the answer as one text, once the server has ended it. */
function call(
  { path, contentType }: Wire,
  { key = parley.apiKey, headers, body, ends }: Sent,
): Promise<string> {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': contentType,
    te: 'trailers',
    authorization: `Bearer ${key}`,
    ...headers,
  });
  stream.write(body);
  if (ends) stream.end();
  return new Promise((resolve, reject) => {
    let answer = '';
    const add = (part: unknown) => {
      answer += part instanceof Buffer ? part.toString('latin1') : JSON.stringify(part);
    };
    stream.on('response', add).on('data', add).on('trailers', add).on('error', reject);
    stream.on('end', () => {
      stream.close();
      resolve(answer);
    });
  });
}

async function usage(): Promise<readonly Record<string, unknown>[]> {
  const response = await parley.call('/usage?page_size=100');
  const { records } = (await response.json()) as { records: Record<string, unknown>[] };
  return records.filter(({ operation }) => operation === 'chat' || operation === 'transcription');
}

describe.each(wires)('over $name', (wire) => {
  it('a wrong key is refused while the body still arrives, and the connection continues', async () => {
    const answer = await call(wire, { key: 'wrong', body: Buffer.alloc(1_000_000), ends: false });
    expect(answer).toMatch(wire.refusal);
    const other = await call(wire, { key: 'wrong', body: wire.body(Buffer.alloc(0)), ends: true });
    expect(other).toMatch(wire.refusal);
  });

  it('a wrong key is refused without decompressing the body', async () => {
    const body = wire.body(Buffer.from('this is not gzip'), compressed);
    const headers = { [wire.encoding]: 'gzip' };
    expect(await call(wire, { key: 'wrong', headers, body, ends: true })).toMatch(wire.refusal);
  });

  it('a valid key with an unreadable body leaves one record', async () => {
    const before = (await usage()).length;
    const answer = await call(wire, { body: wire.body(noMessage), ends: true });
    if (wire.path === upload)
      expect(answer).toMatch(
        /A(?: |%20)message(?: |%20)of(?: |%20)the(?: |%20)request(?: |%20)cannot(?: |%20)be(?: |%20)read/,
      );
    await expect.poll(async () => (await usage()).length).toBe(before + 1);
    const { operation } = wire;
    expect((await usage())[0]).toMatchObject({ operation, state: 'refused', code: 'invalid_request_error' });
    expect(log.error).not.toHaveBeenCalled();
  });

  it.each([
    ['resets its stream without an error', 0],
    ['cancels its stream', 8],
  ])('a client that %s while the gate decides leaves one cancelled record', async (_, code) => {
    const before = (await usage()).length;
    const client = await RawHttp2.open(parley.baseUrl);
    gate.hold();
    gate.asked = 0;
    const headers = [
      ['content-type', wire.contentType],
      ['te', 'trailers'],
      ['expect', '100-continue'],
      ['authorization', `Bearer ${parley.apiKey}`],
    ] as const;
    await client.write(
      request(1, { method: 'POST', path: wire.path, headers, flags: endHeaders }),
      data(1, wire.body(Buffer.alloc(0))),
    );
    await expect.poll(() => gate.asked).toBe(1);
    await client.write(resetStream(1, code));
    // The server reads the received data before it looks up another key.
    await new Promise((resolve) => setTimeout(resolve, 20));
    gate.release();
    await expect.poll(async () => (await usage()).length).toBe(before + 1);
    expect((await usage())[0]).toMatchObject({ state: 'cancelled', code: 'request_cancelled' });
    expect(log.error).not.toHaveBeenCalled();
    client.close();
  });
});

describe('a connection of HTTP/1.1', () => {
  it('continues after a Connect call whose key and body were refused', async () => {
    const client = await RawClient.open(parley.baseUrl);
    const post = async (authorization: string, body: string) => {
      const headers = ['host: x', 'content-type: application/json', `authorization: Bearer ${authorization}`];
      const head = `POST ${chat} HTTP/1.1\r\n${headers.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n`;
      await client.write(head + body);
      return client.answer();
    };
    expect(await post('wrong', 'x'.repeat(100_000))).toMatchObject({ status: 401 });
    expect(await post('wrong', '{}')).toMatchObject({ status: 401 });
    expect(await post(parley.apiKey, '{}')).toMatchObject({ status: 400 });
    client.close();
  });

  it('continues after a Connect upload that was refused before its end', async () => {
    const client = await RawClient.open(parley.baseUrl);
    const rest = Buffer.alloc(1_000_000);
    const head = [
      `POST ${upload} HTTP/1.1`,
      'host: x',
      'content-type: application/connect+proto',
      `authorization: Bearer ${parley.apiKey}`,
      `content-length: ${enveloped(noMessage).length + rest.length}`,
    ];
    await client.write(`${head.join('\r\n')}\r\n\r\n`);
    await client.write(enveloped(noMessage));
    await expect.poll(() => client.received).toMatch(/cannot be read.*\r\n0\r\n\r\n$/s);
    await client.write(rest);
    await client.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n');
    await expect.poll(() => client.received).toContain('{"status":"ok"}');
    client.close();
  });
});
