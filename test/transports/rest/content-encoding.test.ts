/** Compressed bodies of requests over REST. */
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { create } from '@bufbuild/protobuf';
import { afterAll, describe, expect, it } from 'vitest';
import { ChatCompletionSchema } from '../../../gen/parley/chat/v1/chat_pb.ts';
import type { TranscriptionRequest } from '../../../src/core/entities/engine.ts';
import { fakeChat, fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import type { MessageChat } from '../../support/message-chat.ts';
import { errorOf, startParley } from '../../support/parley.ts';

const uploads: TranscriptionRequest[] = [];
const transcription = fakeTranscription({
  transcribe: async function* (request) {
    uploads.push(request);
    yield { kind: 'done', durationMs: 1000, language: 'english' };
  },
});
const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 };
const prompts: unknown[] = [];
const complete: MessageChat['complete'] = async ({ messages }) => {
  prompts.push(messages[0]?.content?.value.value);
  const choices = [{ message: { role: 'assistant' }, finishReason: 'stop' }];
  return create(ChatCompletionSchema, { choices, usage });
};
const parley = await startParley({ engines: withFakes({ transcription, chat: fakeChat({ complete }) }) });
afterAll(() => parley.close());

type Pack = (bytes: Uint8Array) => Buffer;
const encodings: readonly (readonly [string, Pack])[] = [
  ['gzip', gzipSync],
  ['GZIP', gzipSync],
  ['x-gzip', gzipSync],
  ['deflate', deflateSync],
  ['deflate', deflateRawSync],
  ['br', (bytes) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } })],
  ['zstd', zstdCompressSync],
];
const packs = Object.fromEntries(encodings) as Readonly<Record<string, Pack>>;

interface Packed {
  readonly encoding: string;
  readonly path?: string;
  readonly type?: string;
  /** Sent in two pieces without a length. Default: false */
  readonly isChunked?: boolean;
}

function send(
  body: Uint8Array,
  { encoding, path = '/chat/completions', type = 'application/json', isChunked = false }: Packed,
) {
  const half = Math.ceil(body.length / 2);
  const pieces = async function* () {
    yield body.subarray(0, half);
    yield body.subarray(half);
  };
  return parley.call(path, {
    method: 'POST',
    headers: { authorization: `Bearer ${parley.apiKey}`, 'content-type': type, 'content-encoding': encoding },
    body: isChunked ? ReadableStream.from(pieces()) : Buffer.from(body),
    ...(isChunked && { duplex: 'half' }),
  });
}

const prompt = 'I need help. '.repeat(40);
const chat = { model: 'eliza', messages: [{ role: 'user', content: prompt }] };
const plain = Buffer.from(JSON.stringify(chat));
/** JSON of this many bytes, which no encoding makes much smaller than a hundredth. */
const spaced = (bytes: number) => {
  const end = Buffer.from(JSON.stringify({ model: 'eliza', messages: 5 }));
  const spaces = Buffer.alloc(bytes - end.length);
  for (let at = 0, noise = 1; at < spaces.length; at++) {
    noise = (Math.imul(noise, 1_664_525) + 1_013_904_223) | 0;
    spaces[at] = noise < 0 ? 0x20 : 0x0a;
  }
  return Buffer.concat([spaces, end]);
};

describe('a compressed body', () => {
  it.each(encodings)('in %s is read', async (encoding, pack) => {
    for (const isChunked of [false, true]) {
      prompts.length = 0;
      expect((await send(pack(plain), { encoding, isChunked })).status).toBe(200);
      expect(prompts).toEqual([prompt]);
    }
  });

  it.each(encodings)('in %s may be a form', async (encoding, pack) => {
    uploads.length = 0;
    const content = Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7) % 256));
    const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n';
    const body = pack(Buffer.concat([Buffer.from(head), content, Buffer.from('\r\n--b--\r\n')]));
    const type = 'multipart/form-data; boundary=b';
    expect((await send(body, { encoding, type, path: '/audio/transcriptions' })).status).toBe(200);
    expect(Buffer.from(uploads[0]?.audio ?? []).equals(content)).toBe(true);
  });

  it.each(['identity', 'Identity', ''])('is none in %j', async (encoding) => {
    expect((await send(plain, { encoding })).status).toBe(200);
  });

  it.each(['compress', 'gzip, br', 'gzip, gzip', '*', 'toString', 'gzip;q=1'])(
    'in %s gets 415, which names it',
    async (encoding) => {
      for (const path of ['/chat/completions', '/messages', '/audio/transcriptions']) {
        const answer = await send(plain, { encoding, path, type: 'multipart/form-data; boundary=b' });
        expect(answer.status).toBe(415);
        const { error } = (await answer.json()) as { error: { type: string; message: string } };
        expect(error.type).toBe('invalid_request_error');
        expect(error.message).toContain(`\`${encoding}\``);
        expect(await parley.recordOf(answer)).toMatchObject({ state: 'refused', httpStatus: 415 });
      }
    },
  );

  it.each(encodings)('that is not in %s, or is cut, is malformed', async (encoding, pack) => {
    for (const body of [plain, pack(plain).subarray(0, -9), Buffer.from([0])]) {
      const answer = await send(body, { encoding });
      expect(await errorOf(answer)).toMatchObject({
        status: 400,
        code: 'invalid_request_error',
        message: expect.stringContaining('Content-Encoding'),
      });
    }
    expect((await errorOf(await send(Buffer.alloc(0), { encoding }))).message).toContain('is empty');
  });
});

describe('the bounds of a compressed body', () => {
  const speechMax = 1_048_576;

  it.each(encodings)('in %s are those of the path', async (encoding, pack) => {
    const path = '/audio/speech';
    for (const isChunked of [false, true]) {
      const fits = await send(pack(spaced(speechMax)), { encoding, path, isChunked });
      expect(await errorOf(fits)).toMatchObject({ status: 400, code: 'missing_input' });
      const exceeds = await send(pack(spaced(speechMax + 1)), { encoding, path, isChunked });
      expect(await errorOf(exceeds)).toMatchObject({
        status: 413,
        code: 'payload_too_large',
        message: expect.stringContaining(`${speechMax} bytes`),
      });
    }
  });

  it.each(['br', 'zstd'])('in %s include the ratio', async (encoding) => {
    const dense = (packs[encoding] as Pack)(Buffer.alloc(1_000_000, ' '));
    expect(dense.length).toBeLessThan(1_000_000 / 1_032);
    const { status, message } = await errorOf(await send(dense, { encoding }));
    expect([status, message]).toEqual([413, expect.stringContaining('1032 times')]);
  });

  it('include elements and levels', async () => {
    for (const json of [`[${'[],'.repeat(100_000)}[]]`, '['.repeat(101) + ']'.repeat(101)]) {
      const answer = await send(gzipSync(`{"messages":${json}}`), { encoding: 'gzip' });
      expect(await errorOf(answer)).toMatchObject({ status: 400, code: 'invalid_request_error' });
    }
  });

  it('include the memory of a frame of zstd', async () => {
    const params = { [constants.ZSTD_c_windowLog]: 24, [constants.ZSTD_c_contentSizeFlag]: 0 };
    const wide = zstdCompressSync(spaced(9 * 1_048_576), { params });
    const { status, code } = await errorOf(await send(wide, { encoding: 'zstd' }));
    expect([status, code]).toEqual([400, 'invalid_request_error']);
  });
});
