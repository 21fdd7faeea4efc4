import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TranscriptionRequest } from '../../../src/core/entities/engine.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { liveBytes } from '../../support/live-bytes.ts';
import { openWatched } from '../../support/live-memory.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';
import { RawClient } from '../../support/raw-http.ts';

const path = '/api/v1/audio/transcriptions';
const limit = 4_194_304;
const boundary = 'parley-test';
const head = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`;
const tail = `\r\n--${boundary}--\r\n`;
/** A form whose whole body has this size. */
const formOf = (bytes: number) =>
  Buffer.concat([Buffer.from(head), Buffer.alloc(bytes - head.length - tail.length), Buffer.from(tail)]);

describe('the 4 MB limit of an upload', () => {
  const uploads: TranscriptionRequest[] = [];
  let parley: Parley;
  let client: RawClient;

  beforeAll(async () => {
    const transcription = fakeTranscription({
      transcribe: async function* (request) {
        uploads.push(request);
        yield { kind: 'done', durationMs: 1000, language: 'english' };
      },
    });
    parley = await startParley({ engines: withFakes({ transcription }) });
  });
  afterAll(() => parley.close());

  const open = async (...headers: string[]) => {
    client = await RawClient.open(parley.baseUrl);
    const all = [
      `POST ${path} HTTP/1.1`,
      'host: x',
      `authorization: Bearer ${parley.apiKey}`,
      `content-type: multipart/form-data; boundary=${boundary}`,
      ...headers,
    ];
    await client.write(`${all.join('\r\n')}\r\n\r\n`);
    return client;
  };
  const chunk = (bytes: Uint8Array) =>
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

  it('accepts a whole body of exactly that size', async () => {
    uploads.length = 0;
    await open(`content-length: ${limit}`);
    await client.write(formOf(limit));
    expect(await client.answer()).toMatchObject({
      status: 200,
      body: expect.stringContaining('{"text":"",'),
    });
    expect(uploads[0]?.audio.length).toBe(limit - head.length - tail.length);
    client.close();
  });

  it('refuses one byte more by its Content-Length, before any of it is sent', async () => {
    await open(`content-length: ${limit + 1}`);
    const answer = await client.answer();
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'payload_too_large' } });
    client.close();
  });

  it('applies without a Content-Length, and lets the client read the answer while it still sends', async () => {
    await open('transfer-encoding: chunked');
    const part = chunk(Buffer.alloc(65_536));
    await client.write(chunk(Buffer.from(head)));
    for (let sent = 0; sent < limit + 500_000; sent += 65_536) if (!(await client.write(part))) break;
    expect((await client.answer()).status).toBe(413);
    client.close();
  });

  it('applies if the Content-Length is wrong', async () => {
    uploads.length = 0;
    await open('content-length: 1000');
    await client.write(formOf(limit * 2));
    const answer = await client.answer();
    expect(answer.status).toBe(400);
    expect(uploads.length).toBe(0);
    client.close();
  });

  it('counts all parts and boundaries, not the file alone', async () => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(limit - 1000)]), 'a.wav');
    form.append('language', 'x'.repeat(1000));
    const response = await parley.call('/audio/transcriptions', { method: 'POST', body: form });
    expect(await errorOf(response)).toMatchObject({ status: 413, code: 'payload_too_large' });
    expect(await parley.recordOf(response)).toMatchObject({ state: 'refused', httpStatus: 413 });
  });

  it('does not read a refused body: 40 clients that announce a gigabyte cost no memory', async () => {
    const before = liveBytes();
    const clients = await Promise.all(Array.from({ length: 40 }, () => open(`content-length: ${2 ** 30}`)));
    for (const each of clients) {
      await each.write(Buffer.alloc(65_536));
      expect((await each.answer()).status).toBe(413);
    }
    expect(liveBytes() - before).toBeLessThan(20_000_000);
    for (const each of clients) each.close();
  });

  it('closes a client that never stops sending after its refusal', async () => {
    await open('transfer-encoding: chunked');
    const part = chunk(Buffer.alloc(65_536));
    await client.write(chunk(Buffer.from(head)));
    while (await client.write(part));
    expect(client.received).toContain('413');
  });

  it('sends 100 Continue only for a body that it would accept', async () => {
    await open(`content-length: ${limit * 2}`, 'expect: 100-continue');
    const refused = await client.answer();
    expect(refused.status).toBe(413);
    client.close();
    const form = formOf(5000);
    await open(`content-length: ${form.length}`, 'expect: 100-continue');
    expect((await client.answer()).status).toBe(100);
    await client.write(form);
    expect((await client.answer()).status).toBe(200);
    client.close();
  });

  it('reports a missing key before the size', async () => {
    const body = new Blob([new Uint8Array(limit * 2)]);
    const response = await parley.call('/audio/transcriptions', {
      method: 'POST',
      body,
      headers: { authorization: '' },
    });
    expect(await errorOf(response)).toMatchObject({ status: 401, code: 'invalid_api_key' });
  });
});

describe('a malformed form', () => {
  let parley: Parley;
  beforeAll(async () => {
    const transcription = fakeTranscription({
      transcribe: async function* () {
        yield { kind: 'done', durationMs: 1000, language: 'english' };
      },
    });
    parley = await startParley({ engines: withFakes({ transcription }) });
  });
  afterAll(() => parley.close());

  const post = (body: string, type = `multipart/form-data; boundary=${boundary}`) =>
    parley.call('/audio/transcriptions', {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${parley.apiKey}`, 'content-type': type },
    });
  const field = (name: string, value: string) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const file = (name = 'file') =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"; filename="a.wav"\r\n\r\nxyz\r\n`;
  const end = `--${boundary}--\r\n`;

  it.each<[string, string, string?]>([
    ['JSON', '{"file":"x"}', 'application/json'],
    ['no boundary', 'x', 'multipart/form-data'],
    ['an empty boundary', 'x', 'multipart/form-data; boundary='],
    ['a boundary of 71 characters', 'x', `multipart/form-data; boundary=${'b'.repeat(71)}`],
    ['text in the place of parts', 'hello'],
    ['nothing', ''],
    ['a form that ends inside the file', `${file().slice(0, -2)}`],
    ['a form without its end', file()],
    [
      '1,101 fields',
      `${Array.from({ length: 1_101 }, (_, index) => field(`f${index}`, 'x')).join('')}${end}`,
    ],
    ['a field of 70 KB', `${file()}${field('language', 'x'.repeat(70_000))}${end}`],
    ['two files', `${file()}${file()}${end}`],
    ['a file under another name', `${file('audio')}${end}`],
    ['a form that ends inside a file under another name', file('audio').slice(0, -2)],
  ])('%s is invalid_request_error', async (_, body, type) => {
    expect(await errorOf(await post(body, type))).toMatchObject({
      status: 400,
      code: 'invalid_request_error',
    });
  });

  it.each([
    ['no file', `${field('model', 'x')}${end}`],
    ['a file sent as a text field', `${field('file', 'xyz')}${end}`],
    ['no part at all', end],
    ['a part without a header', `--${boundary}\r\n\r\nxyz\r\n${end}`],
  ])('%s is missing_file', async (_, body) => {
    expect(await errorOf(await post(body))).toMatchObject({
      status: 400,
      code: 'missing_file',
      param: 'file',
    });
  });

  it('a file sent as a text field is told how to send it', async () => {
    const { message } = await errorOf(await post(`${field('file', 'xyz')}${end}`));
    expect(message).toContain('as a file, with a filename');
  });

  it('an empty file is invalid_file', async () => {
    const empty = file().replace('xyz', '');
    expect(await errorOf(await post(empty + end))).toMatchObject({ status: 400, code: 'invalid_file' });
  });

  it.each([
    ['xml', 'unsupported_response_format'],
    ['JSON', 'unsupported_response_format'],
    ['', 'unsupported_response_format'],
  ])('the response format “%s” is %s', async (format, code) => {
    const response = await post(field('response_format', format) + file() + end);
    expect(await errorOf(response)).toMatchObject({ status: 400, code, param: 'response_format' });
  });

  it('an unknown granularity is invalid_input', async () => {
    const response = await post(field('timestamp_granularities[]', 'letter') + file() + end);
    expect(await errorOf(response)).toMatchObject({
      code: 'invalid_input',
      param: 'timestamp_granularities',
    });
  });

  it.each(['NaN', 'Infinity', '-Infinity', '1e999', 'warm'])(
    'the temperature %s is invalid_input',
    async (text) => {
      const response = await post(field('temperature', text) + file() + end);
      expect(await errorOf(response)).toMatchObject({ code: 'invalid_input', param: 'temperature' });
    },
  );

  it('a good one after all these is answered', async () => {
    expect((await post(file() + end)).status).toBe(200);
    expect((await post(field('unknown', 'x') + file() + end)).status).toBe(200);
    expect((await post(`${file()}${end}text after the form`)).status).toBe(200);
    const unnamed = file()
      .replace('; filename="a.wav"', '')
      .replace('\r\n\r\n', '\r\ncontent-type: audio/wav\r\n\r\n');
    expect((await post(unnamed + end)).status).toBe(200);
    const large = field('prompt', 'x'.repeat(70_000)) + field('keywords[]', 'x').repeat(40);
    expect((await post(large + file() + end)).status).toBe(200);
  });
});

describe('clients that are slow or do not speak HTTP', () => {
  it('are closed: slow headers, a slow body, nonsense', async () => {
    const limits = { headersMsMax: 500, bodyMsMax: 1000 };
    const parley = await startParley({ settings: { server: limits }, engines: withFakes({}) });
    const clients = await Promise.all(Array.from({ length: 3 }, () => RawClient.open(parley.baseUrl)));
    const [slowHead, slowBody, nonsense] = clients as [RawClient, RawClient, RawClient];
    await slowHead.write('POST /api/v1/models HTTP/1.1\r\nhost:');
    await slowBody.write(
      `POST /api/v1/audio/speech HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${parley.apiKey}\r\ncontent-length: 100\r\n\r\n{`,
    );
    await nonsense.write('\u0016\u0003\u0001 hello\r\n\r\n');
    const answer = await nonsense.answer();
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'invalid_request_error' } });
    await expect.poll(() => clients.every(({ isClosed }) => isClosed)).toBe(true);
    await parley.close();
  });
});

describe('a body in pieces of one byte', () => {
  const bytes = 200_000;
  /** A separate buffer for each piece takes some 30 MB. */
  const liveBytesMax = 10_000_000;
  const engines = withFakes({
    transcription: fakeTranscription({
      transcribe: async function* () {
        yield { kind: 'done', durationMs: 1000, language: 'english' };
      },
    }),
  });
  let parley: Parley;
  beforeAll(async () => {
    parley = await startParley({ engines });
  });
  afterAll(() => parley.close());

  const inPieces = (text: string | Buffer) => {
    const pieces = Array.from(Buffer.from(text), (byte) => Buffer.from([49, 13, 10, byte, 13, 10]));
    return Buffer.concat(pieces);
  };

  it.each([
    ['of JSON', '/chat/completions', 'application/json', '', '{}', 400],
    ['of a form', '/audio/transcriptions', `multipart/form-data; boundary=${boundary}`, head, tail, 200],
  ])(
    '%s costs memory for its bytes, not for the number of pieces',
    async (_, path, type, start, end, status) => {
      const { client, isRead } = await openWatched(() => RawClient.open(parley.baseUrl));
      const headers = ['host: x', `authorization: Bearer ${parley.apiKey}`, `content-type: ${type}`];
      headers.push('transfer-encoding: chunked');
      await client.write(`POST /api/v1${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
      await client.write(inPieces(start));
      const many = inPieces(Buffer.alloc(10_000, ' '));
      const before = liveBytes();
      for (let sent = 0; sent < bytes; sent += 10_000) await client.write(many);
      await isRead();
      expect(liveBytes() - before).toBeLessThan(liveBytesMax);
      await client.write(`${inPieces(end)}0\r\n\r\n`);
      expect(await client.answer()).toMatchObject({ status });
      client.close();
    },
  );

  it.each([
    ['of one message', 'CreateChatCompletion', 'application/json', '{}'],
    ['of one in a stream', 'StreamChatCompletion', 'application/connect+proto', '\0\0\x06\0\0'],
  ])('of an RPC %s is read without a key', async (_, method, type, start) => {
    const client = await RawClient.open(parley.baseUrl);
    const path = `/parley.chat.v1.ChatService/${method}`;
    const headers = ['host: x', `content-type: ${type}`, 'transfer-encoding: chunked'];
    await client.write(`POST ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
    await client.write(inPieces(start));
    const many = inPieces(Buffer.alloc(10_000, ' '));
    for (let sent = 0; sent < 2 * 65_536 - 10_000; sent += 10_000) await client.write(many);
    await client.write('0\r\n\r\n');
    await expect.poll(() => client.received).toMatch(/^HTTP\/1.1 /);
    client.close();
  });
});
