/** Requests that are small on the wire and huge once decoded, and honest large ones, on every wire. */
import { gzipSync } from 'node:zlib';
import { create, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ChatCompletionParamsSchema,
  CreateChatCompletionRequestSchema,
} from '../../gen/parley/chat/v1/chat_pb.ts';
import { jsonCodec } from '../../src/codec/codec.ts';
import { startBehind } from '../support/behind-upstream.ts';
import { completion } from '../support/chat-answers.ts';
import type { Parley } from '../support/parley.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { isWhole } from '../support/tier.ts';
import { json } from '../support/upstream-answers.ts';

const mib = 1024 * 1024;
/** The most that the server takes, or a part of it that already shows whether memory grows with it. */
const bodyBytes = isWhole ? 16 * mib : 2 * mib;
const rpc = '/parley.chat.v1.ChatService/CreateChatCompletion';

let upstream: ScriptedUpstream;
let parley: Parley;
let client: Client;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
  upstream.answer('/chat/completions', json(completion()));
  parley = await startBehind(upstream.baseUrl);
  client = new Client(new URL(parley.baseUrl).host, credentials.createInsecure());
});
afterAll(async () => {
  client.close();
  await parley.close();
  await upstream.stop();
});

interface Outcome {
  readonly isOk: boolean;
  readonly text: string;
}

/** Sends the bytes of a message. */
type Send = (message: Uint8Array) => Promise<Outcome>;

async function post(url: string, body: Uint8Array, headers: Record<string, string>): Promise<Outcome> {
  const authorization = `Bearer ${parley.apiKey}`;
  const response = await fetch(url, { method: 'POST', body, headers: { authorization, ...headers } });
  const text = decodeURIComponent(await response.text());
  return { isOk: response.ok && !/grpc-status: *[1-9]/.test(text), text };
}

const connect =
  (type: string, encoding?: string): Send =>
  (message) =>
    post(new URL(rpc, parley.baseUrl).href, encoding ? gzipSync(message) : message, {
      'content-type': type,
      ...(encoding && { 'content-encoding': encoding }),
    });

const grpcWeb =
  (isPacked: boolean): Send =>
  (message) => {
    const content = isPacked ? gzipSync(message) : message;
    const head = Buffer.alloc(5);
    head.writeUInt8(isPacked ? 1 : 0, 0);
    head.writeUInt32BE(content.length, 1);
    return post(new URL(rpc, parley.baseUrl).href, Buffer.concat([head, content]), {
      'content-type': 'application/grpc-web+proto',
      ...(isPacked && { 'grpc-encoding': 'gzip' }),
    });
  };

const grpc =
  (isPacked: boolean): Send =>
  (message) =>
    new Promise((resolve) => {
      const metadata = new Metadata();
      metadata.set('authorization', `Bearer ${parley.apiKey}`);
      if (isPacked) metadata.set('grpc-internal-encoding-request', 'gzip');
      const same = (bytes: Buffer) => bytes;
      client.makeUnaryRequest(rpc, same, same, Buffer.from(message), metadata, (error: ServiceError | null) =>
        resolve({ isOk: error === null, text: error?.details ?? '' }),
      );
    });

const rest: Send = (message) =>
  post(`${parley.baseUrl}/chat/completions`, message, { 'content-type': 'application/json' });

const binaryWires: readonly (readonly [string, Send])[] = [
  ['gRPC', grpc(false)],
  ['gRPC, packed', grpc(true)],
  ['gRPC-Web', grpcWeb(false)],
  ['gRPC-Web, packed', grpcWeb(true)],
  ['Connect', connect('application/proto')],
  ['Connect, packed', connect('application/proto', 'gzip')],
];

/** The most memory of objects while `work` runs, above the memory before it. */
async function peakHeapBytes(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().heapUsed;
  let peak = before;
  const note = () => {
    peak = Math.max(peak, process.memoryUsage().heapUsed);
  };
  const timer = setInterval(note, 2);
  await work();
  note();
  clearInterval(timer);
  return peak - before;
}

/** Decoded, the bodies would use 25 to 70 times their size. The first part is for memory that other work has not returned. */
const heapBytesMax = 32 * mib + 4 * bodyBytes;

async function expectRefused(send: Send, message: Uint8Array, told: string): Promise<void> {
  let outcome: Outcome | undefined;
  const peak = await peakHeapBytes(async () => {
    outcome = await send(message);
  });
  expect(outcome?.isOk).toBe(false);
  expect(outcome?.text).toContain(told);
  expect(peak).toBeLessThan(heapBytesMax);
}

const tooMany = 'more than 100000 elements';
const tooDeep = 'nested more than 100 levels';
const filled = (head: string, unit: string, tail: string) =>
  Buffer.from(head + unit.repeat(bodyBytes / unit.length).slice(0, -1) + tail);
const half = bodyBytes / 2;

describe.each([
  ['objects', filled('{"model":"served","x":[', '{},', ']}'), tooMany],
  ['numbers', filled('{"model":"served","x":[', '0,', ']}'), tooMany],
  ['messages', filled('{"model":"served","messages":[', '{"role":"user","content":"hi"},', ']}'), tooMany],
  ['levels', Buffer.from(`{"x":${'['.repeat(half)}${']'.repeat(half)}}`), tooDeep],
])('a JSON body of %s without number', (_, body, told) => {
  const inRequest = Buffer.concat([Buffer.from('{"params":'), body, Buffer.from('}')]);

  it.each<readonly [string, Send, Buffer]>([
    ['REST', rest, body],
    ['Connect', connect('application/json'), inRequest],
    ['Connect, packed', connect('application/json', 'gzip'), inRequest],
  ])('is refused before it is parsed on %s', async (_wire, send, message) => {
    await expectRefused(send, message, told);
  });
});

/** A length-delimited field of up to 2^28 bytes. */
function field(number: number, content: Uint8Array): Buffer {
  const { length } = content;
  const bytes = [0, 7, 14, 21].map((shift) => ((length >> shift) & 0x7f) | (shift < 21 ? 0x80 : 0));
  const tag = number * 8 + 2;
  return Buffer.concat([
    Buffer.from(tag < 128 ? [tag] : [(tag & 0x7f) | 0x80, tag >> 7]),
    Buffer.from(bytes),
    content,
  ]);
}

const repeated = (unit: Uint8Array) => Buffer.alloc(Math.floor(bodyBytes / unit.length) * unit.length, unit);
const value = Buffer.from([0x08, 0x00]);

describe.each([
  ['submessages', field(1, repeated(Buffer.from([0x12, 0]))), tooMany],
  ['unknown fields', field(1, repeated(Buffer.from([0xf8, 0x3f, 1]))), tooMany],
  ['groups', field(1, repeated(Buffer.from([0xf3, 0x3f, 0xf4, 0x3f]))), tooMany],
  [
    'entries of an object',
    field(1, field(100, repeated(field(1, field(2, value))))),
    'more than 10000 members',
  ],
])('a message of %s without number', (_, message, told) => {
  it.each(binaryWires)('is refused before it is decoded on %s', async (_wire, send) => {
    await expectRefused(send, message, told);
  });
});

const question = { model: 'served', messages: [{ role: 'user', content: 'Hello' }] };
const call = (index: number) => ({
  id: `call_${index}`,
  type: 'function',
  function: { name: 'lookup', arguments: '{"query":"x"}' },
});
const manyTools = Array.from({ length: 128 }, (_, tool) => ({
  type: 'function',
  function: {
    name: `tool_${tool}`,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 50 }, (_none, property) => [
          `p${property}`,
          { type: 'string', enum: ['a', 'b'] },
        ]),
      ),
    },
  },
}));
const image = `data:image/png;base64,${'iVBORw0KGgo+'.repeat(bodyBytes / 12 - 100)}`;

describe.each<[string, JsonObject]>([
  [
    '10,000 messages with tool calls',
    {
      ...question,
      messages: Array.from({ length: 10_000 }, (_, index) =>
        index % 2 === 0
          ? { role: 'assistant', content: null, tool_calls: [call(index)] }
          : { role: 'tool', tool_call_id: `call_${index - 1}`, content: [{ type: 'text', text: 'result' }] },
      ),
    },
  ],
  ['128 tools of 50 properties', { ...question, tools: manyTools }],
  [
    `an image of ${bodyBytes / mib} MB`,
    {
      ...question,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: image } }] }],
    },
  ],
])('a request of %s', (_, params) => {
  const decoded = jsonCodec(ChatCompletionParamsSchema).decode(params);
  const request = create(CreateChatCompletionRequestSchema, { params: decoded });
  const bytes = toBinary(CreateChatCompletionRequestSchema, request);

  it.each<readonly [string, Send, Uint8Array]>([
    ['REST', rest, Buffer.from(JSON.stringify(params))],
    ...binaryWires.map(([wire, send]) => [wire, send, bytes] as const),
  ])('is answered on %s', async (_wire, send, sent) => {
    expect(await send(sent)).toMatchObject({ isOk: true });
  });
});
