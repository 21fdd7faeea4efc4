/** The program with short limits of its port, so that its timeouts pass while a test waits. */

import { get } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { create } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect } from 'vitest';
import { CatalogService } from '../../gen/parley/catalog/v1/catalog_service_pb.ts';
import { ChatCompletionChunkSchema, ChatCompletionSchema } from '../../gen/parley/chat/v1/chat_pb.ts';
import type { Signal } from '../../src/core/values/signal.ts';
import { fakeChat, fakeSpeech, withFakes } from './fake-engines.ts';
import { type Parley, startParley } from './parley.ts';
import { RawClient } from './raw-http.ts';
import {
  data,
  endHeaders,
  endStream,
  type HeaderList,
  RawHttp2,
  type RawHttp2Options,
  request,
} from './raw-http2.ts';

export const limits = {
  connectionsMax: 40,
  headersMsMax: 600,
  bodyMsMax: 1000,
  stallMsMax: 1500,
  idleMs: 1500,
  pingEveryMs: 1000,
  pingTimeoutMs: 1_200,
  keepAliveMs: 500,
  streamsPerConnectionMax: 20,
};

/** The limits, the interval between checks, the time that a socket needs to close, and a slow machine. */
export const inTime = { timeout: 120_000, interval: 20 };
export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** More than the buffers of the system hold. */
export const bigAnswerBytes = 24_000_000;
const big = 'x'.repeat(bigAnswerBytes);

/** Whole answers are large. Streamed ones are silent for longer than a client may be, and then come bit by bit. */
const chat = fakeChat({
  complete: async () =>
    create(ChatCompletionSchema, {
      choices: [{ finishReason: 'stop', message: { content: { value: { case: 'text', value: big } } } }],
      usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 },
    }),
  stream: async function* () {
    await sleep(limits.stallMsMax + 1200);
    for (let index = 0; index < 4; index++) {
      yield create(ChatCompletionChunkSchema, { choices: [{ delta: { content: `${index} ` } }] });
      await sleep(400);
    }
    const usage = { promptTokens: 1, completionTokens: 8, totalTokens: 9 };
    yield create(ChatCompletionChunkSchema, { choices: [{ delta: {}, finishReason: 'stop' }], usage });
  },
});

export const chatBody = { model: 'eliza', messages: [{ role: 'user', content: 'hello' }] };
export const speechBody = { model: 'flite', input: 'Hello.', response_format: 'pcm' };

export class LimitedPort {
  readonly parley: Parley;
  readonly #clients: { close(): void }[] = [];
  #speaking = 0;

  private constructor(parley: Parley) {
    this.parley = parley;
  }

  static async start(server: Partial<typeof limits & { drainMs: number }> = {}): Promise<LimitedPort> {
    const speech = fakeSpeech({
      synthesize: (_, signal) => ({ durationMs: () => 1000, audio: port.#endlessAudio(signal) }),
    });
    const settings = { server: { ...limits, ...server } };
    const port: LimitedPort = new LimitedPort(
      await startParley({ settings, engines: withFakes({ chat, speech }) }),
    );
    return port;
  }

  get origin(): string {
    return new URL(this.parley.baseUrl).origin;
  }

  get authorization(): string {
    return `Bearer ${this.parley.apiKey}`;
  }

  /** The number of running requests for speech; none of them ends by itself. */
  get speaking(): number {
    return this.#speaking;
  }

  async openHttp2(options: RawHttp2Options = {}): Promise<RawHttp2> {
    const client = await RawHttp2.open(this.origin, options);
    this.#clients.push(client);
    return client;
  }

  async openHttp1(): Promise<RawClient> {
    const client = await RawClient.open(this.origin);
    this.#clients.push(client);
    return client;
  }

  openSession(): ClientHttp2Session {
    const session = connect(this.origin);
    session.on('error', () => undefined);
    this.#clients.push({ close: () => session.destroy() });
    return session;
  }

  /** A POST with its key and body, in bytes of HTTP/1. */
  http1Post(path: string, body: object): string {
    const text = JSON.stringify(body);
    const head = [
      `POST /api/v1${path} HTTP/1.1`,
      'host: parley',
      `authorization: ${this.authorization}`,
      `content-length: ${text.length}`,
    ];
    return `${head.join('\r\n')}\r\n\r\n${text}`;
  }

  /** The same in HTTP/2 frames. */
  http2Post(streamId: number, path: string, body: object): Buffer {
    const headers: HeaderList = [['authorization', this.authorization]];
    return Buffer.concat([
      request(streamId, { method: 'POST', path: `/api/v1${path}`, flags: endHeaders, headers }),
      data(streamId, Buffer.from(JSON.stringify(body)), endStream),
    ]);
  }

  /** The status that a client gets on a separate connection. The server closes it at once if it has too many. */
  status(): Promise<number | undefined> {
    const options = { agent: false, headers: { authorization: this.authorization } };
    return new Promise((resolve) => {
      get(`${this.parley.baseUrl}/models`, options, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on('error', () => resolve(undefined));
    });
  }

  /**
   * Checks that a client of each protocol is served while the connections of a test are still open at its end. Then
   * closes them, and checks that none of their requests still runs.
   */
  async isWell(): Promise<void> {
    await expect.poll(() => this.status(), inTime).toBe(200);
    const transport = createGrpcTransport({ baseUrl: this.origin, idleConnectionTimeoutMs: 1 });
    const { authorization } = this;
    const models = await createClient(CatalogService, transport).listModels(
      {},
      { headers: { authorization } },
    );
    expect(models.data.length).toBeGreaterThan(0);
    for (const client of this.#clients.splice(0)) client.close();
    await expect.poll(() => this.#speaking, inTime).toBe(0);
  }

  /** The body in parts of 16 KiB. */
  async *#endlessAudio(signal: Signal): AsyncGenerator<Uint8Array> {
    this.#speaking += 1;
    try {
      while (!signal.aborted) {
        yield Buffer.alloc(16_384);
        await sleep(1);
      }
    } finally {
      this.#speaking -= 1;
    }
  }
}
