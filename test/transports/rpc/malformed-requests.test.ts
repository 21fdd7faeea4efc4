/** Messages and deadlines that cannot be read: INVALID_ARGUMENT with the details of any other error, and a usage record. */

import type { IncomingHttpHeaders } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { base64Decode } from '@bufbuild/protobuf/wire';
import { anyUnpack } from '@bufbuild/protobuf/wkt';
import { afterAll, describe, expect, it } from 'vitest';
import { type ErrorInfo, ErrorInfoSchema } from '../../../gen/google/rpc/error_details_pb.ts';
import { StatusSchema } from '../../../gen/google/rpc/status_pb.ts';
import { UploadTranscriptionRequestSchema } from '../../../gen/parley/audio/v1/transcription_pb.ts';
import { CreateChatCompletionRequestSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import { wavFile } from '../../support/audio-files.ts';
import { startConnected } from '../../support/connected-parley.ts';

const { parley, session, close } = await startConnected();
afterAll(close);

/** The status of an RPC as its client reads it. */
interface Outcome {
  readonly code: number;
  readonly info: ErrorInfo | undefined;
}

type Wire = 'gRPC' | 'gRPC-Web' | 'Connect' | 'Connect stream';
const contentTypes: Readonly<Record<Wire, string>> = {
  gRPC: 'application/grpc+proto',
  'gRPC-Web': 'application/grpc-web+proto',
  Connect: 'application/proto',
  'Connect stream': 'application/connect+proto',
};

async function call(
  wire: Wire,
  path: string,
  message: Uint8Array,
  headers: Record<string, string> = {},
  frame: (message: Uint8Array) => Uint8Array = wire === 'Connect' ? (bytes) => bytes : enveloped,
): Promise<Outcome> {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/${path}`,
    'content-type': contentTypes[wire],
    te: 'trailers',
    authorization: `Bearer ${parley.apiKey}`,
    ...headers,
  });
  stream.end(frame(message));
  let status: IncomingHttpHeaders = {};
  stream.on('response', (head) => {
    status = { ...status, ...head };
  });
  stream.on('trailers', (trailers) => {
    status = { ...status, ...trailers };
  });
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return outcomeOf(wire, status, Buffer.concat(pieces));
}

function enveloped(message: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function outcomeOf(wire: Wire, status: IncomingHttpHeaders, body: Buffer): Outcome {
  switch (wire) {
    case 'gRPC':
      return grpcOutcome(status);
    case 'gRPC-Web': {
      const lines = body.subarray(5).toString().trim().split('\r\n');
      return grpcOutcome(Object.fromEntries(lines.map((line) => line.split(/: ?/, 2))));
    }
    case 'Connect':
      return connectOutcome(JSON.parse(body.toString()));
    case 'Connect stream':
      return connectOutcome(JSON.parse(body.subarray(5).toString()).error);
  }
}

function grpcOutcome(trailers: IncomingHttpHeaders): Outcome {
  const packed = trailers['grpc-status-details-bin'];
  const details = packed === undefined ? [] : fromBinary(StatusSchema, base64Decode(String(packed))).details;
  const info = details.map((detail) => anyUnpack(detail, ErrorInfoSchema)).find(Boolean);
  return { code: Number(trailers['grpc-status']), info };
}

const connectCodes: Readonly<Record<string, number>> = {
  invalid_argument: 3,
  deadline_exceeded: 4,
  internal: 13,
  resource_exhausted: 8,
  unimplemented: 12,
};

function connectOutcome(error: { code: string; details?: { value: string }[] }): Outcome {
  const [detail] = error.details ?? [];
  const info = detail && fromBinary(ErrorInfoSchema, base64Decode(detail.value));
  return { code: connectCodes[error.code] ?? Number.NaN, info };
}

const unreadable = { code: 3, reason: 'invalid_request_error' };
const tooLarge = { code: 8, reason: 'payload_too_large' };

async function expectRefused(
  { code, info }: Outcome,
  { isRecorded = true, expected = unreadable } = {},
): Promise<void> {
  expect({ code, reason: info?.reason, domain: info?.domain }).toEqual({ ...expected, domain: 'parley' });
  if (!isRecorded) return;
  const id = info?.metadata['request_id'] ?? '';
  const record = await parley.recordOf(new Response(null, { headers: { 'x-request-id': id } }));
  expect(record).toMatchObject({ state: 'refused', code: expected.reason });
}

const chat = 'parley.chat.v1.ChatService/CreateChatCompletion';
const chatStream = 'parley.chat.v1.ChatService/StreamChatCompletion';
const speech = 'parley.speech.v1.SpeechService/SynthesizeSpeech';
const models = 'parley.catalog.v1.CatalogService/ListModels';
const upload = 'parley.audio.v1.TranscriptionService/UploadTranscription';
const health = 'grpc.health.v1.Health/Check';
const reflection = 'grpc.reflection.v1.ServerReflection/ServerReflectionInfo';

/** Field 1 with a length beyond the end; a group without an end; a text that is not UTF-8. */
const malformed: Readonly<Record<string, Buffer>> = {
  'cut short': Buffer.from([0x0a, 0xff, 0x01]),
  'of an open group': Buffer.from([0x0b]),
  'of a wrong tag': Buffer.from([0x07]),
};

describe.each(Object.keys(malformed))('a message %s', (name) => {
  const bytes = malformed[name] ?? Buffer.alloc(0);

  it.each([chat, chatStream, speech, models, upload])('to %s over gRPC', async (path) => {
    await expectRefused(await call('gRPC', path, bytes));
  });
  it.each([health, reflection])('to %s over gRPC leaves no record', async (path) => {
    await expectRefused(await call('gRPC', path, bytes), { isRecorded: false });
  });
  it.each([chat, chatStream, speech, models, upload])('to %s over gRPC-Web', async (path) => {
    await expectRefused(await call('gRPC-Web', path, bytes));
  });
  it.each([chat, models])('to %s over Connect', async (path) => {
    await expectRefused(await call('Connect', path, bytes));
  });
  it.each([chatStream, speech, upload])('to %s over Connect', async (path) => {
    await expectRefused(await call('Connect stream', path, bytes));
  });
});

describe.each(['gRPC', 'gRPC-Web', 'Connect stream'] as const)('over %s', (wire) => {
  const encoding = wire === 'Connect stream' ? 'connect-content-encoding' : 'grpc-encoding';
  const path = wire === 'Connect stream' ? chatStream : chat;

  it('a message that is not gzip as declared', async () => {
    const packed = enveloped(Buffer.from('not gzip'));
    packed[0] = 1;
    await expectRefused(await call(wire, path, packed, { [encoding]: 'gzip' }, (bytes) => bytes));
  });

  it('a compression that the server does not have', async () => {
    const { code } = await call(wire, path, Buffer.alloc(0), { [encoding]: 'cow' });
    expect(code).toBe(12);
  });

  it('an upload of more messages than allowed', async () => {
    const messages = Buffer.alloc(5 * 65_537);
    const { code, info } = await call(wire, upload, messages, {}, (bytes) => bytes);
    expect({ code, reason: info?.reason }).toEqual({ code: 3, reason: 'invalid_request_error' });
  });

  it('a message over the limit', async () => {
    const begun = enveloped(Buffer.alloc(16));
    begun.writeUInt32BE(21 * 1_048_576, 1);
    await expectRefused(await call(wire, path, begun, {}, (bytes) => bytes), { expected: tooLarge });
  });
});

const hello = toBinary(
  CreateChatCompletionRequestSchema,
  create(CreateChatCompletionRequestSchema, {
    params: {
      model: 'eliza',
      messages: [{ role: 'user', content: { value: { case: 'text', value: 'Hi.' } } }],
    },
  }),
);
const chunk = (value: Uint8Array) => {
  const message = create(UploadTranscriptionRequestSchema, { part: { case: 'chunk', value } });
  return enveloped(toBinary(UploadTranscriptionRequestSchema, message));
};
/** A whole recording of a second, in two messages. */
const recording = wavFile(new Int16Array(16_000));
const wholeUpload = Buffer.concat([chunk(recording.subarray(0, 16_000)), chunk(recording.subarray(16_000))]);

describe.each(['gRPC', 'gRPC-Web', 'Connect stream'] as const)('frames over %s', (wire) => {
  const asIs = (bytes: Uint8Array) => bytes;
  const send = (path: string, body: Uint8Array) => call(wire, path, body, {}, asIs);
  const single = wire === 'Connect stream' ? chatStream : chat;
  const notOne = { code: 12, reason: 'invalid_request_error' };

  it.each([
    ['inside its last message', wholeUpload.subarray(0, -1)],
    ['after the head of a message', Buffer.concat([wholeUpload, enveloped(Buffer.alloc(9)).subarray(0, 5)])],
    ['inside the head of a message', Buffer.concat([wholeUpload, Buffer.alloc(3)])],
  ])('an upload that ends %s', async (_, body) => {
    await expectRefused(await send(upload, body));
  });

  it.each([
    ['inside its message', enveloped(hello).subarray(0, -1)],
    ['inside its head', Buffer.alloc(4)],
    ['inside a second head', Buffer.concat([enveloped(hello), Buffer.alloc(2)])],
  ])('a request that ends %s', async (_, body) => {
    await expectRefused(await send(single, body));
  });

  it.each([
    ['no message', Buffer.alloc(0)],
    ['two messages', Buffer.concat([enveloped(hello), enveloped(hello)])],
  ])('a request of %s', async (_, body) => {
    await expectRefused(await send(single, body), { expected: notOne });
  });

  it('a compressed message without a named compression', async () => {
    const packed = enveloped(gzipSync(hello));
    packed[0] = 1;
    await expectRefused(await send(single, packed), { expected: { ...unreadable, code: 13 } });
  });
});

describe('a deadline', () => {
  const empty = Buffer.alloc(0);
  const grpcTimeouts = ['-1S', '1', '1s', '1 S', '123456789S', '', 'S', '0x1S', '1.5S', '1S, 2S'];

  for (const wire of ['gRPC', 'gRPC-Web'] as const) {
    it.each(grpcTimeouts)(`of %j over ${wire}`, async (timeout) => {
      for (const path of [chat, chatStream, models]) {
        await expectRefused(await call(wire, path, empty, { 'grpc-timeout': timeout }));
      }
      await expectRefused(await call(wire, health, empty, { 'grpc-timeout': timeout }), {
        isRecorded: false,
      });
    });
  }

  it.each(['-1', '1S', '', '12345678901', '1.5', '0x1'])('of %j over Connect', async (timeout) => {
    const headers = { 'connect-timeout-ms': timeout };
    await expectRefused(await call('Connect', models, empty, headers));
    await expectRefused(await call('Connect stream', chatStream, empty, headers));
  });

  it.each([
    ['gRPC', 'grpc-timeout', '0n'],
    ['gRPC-Web', 'grpc-timeout', '0S'],
    ['Connect', 'connect-timeout-ms', '0'],
  ] as const)('of no time has passed over %s', async (wire, header, timeout) => {
    expect(await call(wire, chat, empty, { [header]: timeout })).toMatchObject({ code: 4 });
  });

  it.each([
    ['gRPC', 'grpc-timeout', '99999999H'],
    ['gRPC-Web', 'grpc-timeout', '99999999H'],
    ['Connect', 'connect-timeout-ms', '9999999999'],
  ] as const)('that is longer than any timer is accepted over %s', async (wire, header, timeout) => {
    const { code, info } = await call(wire, chat, empty, { [header]: timeout });
    expect({ code, reason: info?.reason }).toEqual({ code: 3, reason: 'missing_model' });
  });
});
