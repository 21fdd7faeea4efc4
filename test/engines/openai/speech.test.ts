/** Speech through an OpenAI-compatible upstream: requests, relayed audio, and failures. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startBehind } from '../../support/behind-upstream.ts';
import { errorOf } from '../../support/parley.ts';
import { type Answer, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import {
  failure,
  json,
  pieces,
  resetAt,
  resetAtOnce,
  silence,
  whole,
} from '../../support/upstream-answers.ts';

const path = '/audio/speech';
const speechModel = { id: 'speaker', type: 'speech', engine: 'upstream' };
const upstream = await startScriptedUpstream();
const parley = await startBehind(upstream.baseUrl, {
  engine: { models: { speaker: 'upstream-tts' }, voices: { anna: 'de-DE', bill: 'en-GB' } },
  models: [speechModel],
});
afterAll(async () => {
  await parley.close();
  await upstream.stop();
});

const headerOf: Readonly<Record<string, string>> = {
  mp3: 'ID3\x04',
  opus: 'OggS',
  flac: 'fLaC',
  wav: 'RIFF',
  pcm: '\0\x01\0\x02',
};
/** Bytes with the signature of the format. */
const audioAs = (format: string, bytes = 1000): Buffer =>
  Buffer.concat([Buffer.from(headerOf[format] ?? '', 'latin1'), randomBytes(bytes)]);
const audio = (body: Uint8Array, type = 'audio/mpeg'): Answer =>
  whole(body, { headers: { 'content-type': type } });

const hello = { model: 'speaker', input: 'Hello there.' };
const speak = (body: object = {}, init?: RequestInit) => parley.postJson(path, { ...hello, ...body }, init);
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());
const unpaid = { state: 'failed', fairUseUnits: 0 };

beforeEach(() => upstream.answer(path, audio(audioAs('mp3'))));

describe('a request', () => {
  it('reaches the upstream with only the four fields of the contract', async () => {
    const more = { speed: 2, instructions: 'None', stream_format: 'sse', voice_settings: { a: 1 } };
    await speak({ voice: 'bill', response_format: 'mp3', ...more });
    const request = upstream.requests.at(-1);
    expect(request).toMatchObject({ method: 'POST', path });
    expect(request?.headers['content-type']).toBe('application/json');
    expect(request?.headers.accept).toMatch(/^audio\/mpeg\b/);
    expect(request?.json).toEqual({
      model: 'upstream-tts',
      input: 'Hello there.',
      voice: 'bill',
      response_format: 'mp3',
    });
  });

  it('always names the voice and the format, as upstreams have other defaults', async () => {
    await speak();
    expect(upstream.requests.at(-1)?.json).toMatchObject({ voice: 'anna', response_format: 'mp3' });
  });

  it('keeps its text unchanged', async () => {
    const input = ' “Grüße” \n\t\u0000 🎉 é — "quoted" \\ ';
    await speak({ input });
    expect(upstream.requests.at(-1)?.json.input).toBe(input);
  });
});

describe('the audio', () => {
  it.each([
    ['mp3', 'audio/mpeg', 'audio/mpeg'],
    ['opus', 'audio/opus', 'audio/ogg'],
    ['flac', 'audio/x-flac', 'audio/flac'],
    ['wav', 'audio/x-wav', 'audio/wav'],
    ['pcm', 'audio/pcm;rate=24000', 'audio/pcm'],
    ['opus', 'application/ogg', 'audio/ogg'],
    ['mp3', 'application/octet-stream', 'audio/mpeg'],
  ])('as %s, called %s by the upstream, arrives byte by byte as %s', async (format, theirs, ours) => {
    const body = audioAs(format, 300_000);
    upstream.answer(path, audio(body, theirs));
    const response = await speak({ response_format: format });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(ours);
    expect((await bytesOf(response)).equals(body)).toBe(true);
  });

  it('is forwarded as it is produced', async () => {
    const rest = Promise.withResolvers<void>();
    const [first, second] = [audioAs('mp3'), randomBytes(1000)];
    upstream.answer(path, async (exchange) => {
      exchange.head(200, { 'content-type': 'audio/mpeg' });
      await exchange.write(first);
      await rest.promise;
      exchange.end(second);
    });
    const reader = readerOf(await speak());
    expect(Buffer.from((await reader.read()).value ?? []).equals(first)).toBe(true);
    rest.resolve();
    expect(Buffer.from((await reader.read()).value ?? []).equals(second)).toBe(true);
  });

  it('slows the upstream if the client reads slowly', async () => {
    const piece = audioAs('mp3', 65_532);
    let sent = 0;
    upstream.answer(path, async (exchange) => {
      exchange.head(200, { 'content-type': 'audio/mpeg' });
      for (; sent < 5_000; sent++) await exchange.write(piece);
      exchange.end();
    });
    const reader = readerOf(await speak());
    await reader.read();
    const stalled = await restOf(() => sent);
    // The size of the socket buffers between client, Parley and upstream.
    expect(stalled * piece.length).toBeLessThan(40_000_000);
    for (let read = 0; read < 20_000_000; ) read += (await reader.read()).value?.length ?? Number.NaN;
    expect(await restOf(() => sent)).toBeGreaterThan(stalled);
    await reader.cancel();
  });

  it.each([
    ['pcm', audioAs('pcm', 95_996), 2_000],
    ['wav', wav(24_000, 48_000), 1_000],
    ['mp3', audioAs('mp3'), undefined],
  ])('in %s has its length in the record, if the bytes show it', async (format, body, ms) => {
    upstream.answer(path, pieces([body.subarray(0, 30), body.subarray(30)], { everyMs: 5 }));
    const response = await speak({ response_format: format });
    await response.arrayBuffer();
    expect((await parley.recordOf(response)).audioMsOut).toBe(ms);
  });

  it.each([
    ['no bytes', 0, 0xffff_ffff],
    ['2 GB', 0x7fff_ffff, 0xffff_ffff],
    ['2 GB, rounded down', 0x7fff_f000, 0xffff_ffff],
    ['no known length', 0xffff_ffff, 0xffff_ffff],
    ['its length', 48_000, 48_000],
  ])('as WAV that states %s has no false length', async (_, stated, arrives) => {
    const body = wav(24_000, 48_000);
    if (stated === 48_000) body.writeUInt32LE(36 + stated, 4);
    body.writeUInt32LE(stated, 40);
    upstream.answer(path, pieces([body.subarray(0, 44), body.subarray(44)], { everyMs: 5 }));
    const response = await speak({ response_format: 'wav' });
    const received = await bytesOf(response);
    expect((await parley.recordOf(response)).audioMsOut).toBe(1_000);
    expect([received.readUInt32LE(40), received.subarray(44).equals(body.subarray(44))]).toEqual([
      arrives,
      true,
    ]);
    expect(received.readUInt32LE(4)).toBe(arrives === 48_000 ? 48_036 : 0xffff_ffff);
  });

  it('as WAV without samples stays empty', async () => {
    const body = wav(24_000, 0);
    body.writeUInt32LE(0, 40);
    upstream.answer(path, audio(body, 'audio/wav'));
    const response = await speak({ response_format: 'wav' });
    expect((await bytesOf(response)).equals(body)).toBe(true);
    expect((await parley.recordOf(response)).audioMsOut).toBe(0);
  });

  it('of a few bytes is complete', async () => {
    upstream.answer(path, pieces(['a', 'b'], { everyMs: 5, headers: { 'content-type': 'audio/mpeg' } }));
    expect((await bytesOf(await speak())).toString()).toBe('ab');
  });
});

describe('an answer that is not the requested audio is an error, and costs nothing', () => {
  const inPieces = [...'RIFF and more'];
  it.each<[string, Answer, string]>([
    ['JSON', json({ error: 'upstream words' }), 'mp3'],
    ['a page', whole('<html>upstream words', { headers: { 'content-type': 'text/html' } }), 'mp3'],
    ['text', whole('upstream words', { headers: { 'content-type': 'text/plain' } }), 'mp3'],
    ['events', whole('data: x\n\n', { headers: { 'content-type': 'text/event-stream' } }), 'mp3'],
    ['nothing', audio(Buffer.alloc(0)), 'mp3'],
    ['WAV in the place of MP3', audio(audioAs('wav')), 'mp3'],
    ['MP3 in the place of PCM', audio(audioAs('mp3'), 'audio/pcm'), 'pcm'],
    ['WAV in small pieces in the place of Opus', pieces(inPieces, { everyMs: 2 }), 'opus'],
  ])('%s', async (_, answer, format) => {
    upstream.answer(path, answer);
    const response = await speak({ response_format: format });
    const error = await errorOf(response);
    expect(error).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(error.message).not.toContain('upstream words');
    expect(await parley.recordOf(response)).toMatchObject({ ...unpaid, code: 'upstream_error' });
  });
});

describe('an upstream that fails', () => {
  it.each([400, 401, 402, 404, 429, 500, 503])(
    'with %d before the audio passes its status on',
    async (status) => {
      upstream.answer(path, failure(status, { 'retry-after': '7' }));
      const response = await speak();
      expect(response.headers.get('retry-after')).toBe('7');
      const error = await errorOf(response);
      expect(error).toMatchObject({ status, code: 'upstream_error' });
      expect(error.message).not.toContain('upstream');
      expect(await parley.recordOf(response)).toMatchObject({ ...unpaid, httpStatus: status });
    },
  );

  it('without an answer is a 502', async () => {
    upstream.answer(path, resetAtOnce);
    const response = await speak();
    expect(await errorOf(response)).toMatchObject({ status: 502, code: 'upstream_error' });
    expect(await parley.recordOf(response)).toMatchObject(unpaid);
  });

  it.each<[string, Record<string, string>]>([
    ['in chunks', { 'content-type': 'audio/mpeg' }],
    ['of a stated length', { 'content-type': 'audio/mpeg', 'content-length': '100000' }],
  ])('in the middle of audio %s resets the connection, and costs nothing', async (_, headers) => {
    upstream.answer(path, resetAt(50_000, audioAs('mp3', 99_996), { headers }));
    const response = await speak();
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow();
    expect(await parley.recordOf(response)).toMatchObject({ ...unpaid, code: 'upstream_error' });
  });
});

describe('a client that leaves', () => {
  it('before the audio stops the upstream, and costs nothing', async () => {
    upstream.answer(path, silence);
    const leaving = new AbortController();
    const arrived = upstream.nextRequest();
    const response = speak({}, { signal: leaving.signal });
    const request = await arrived;
    leaving.abort();
    await expect(response).rejects.toThrow();
    await request.aborted;
  });

  it('in the middle of the audio stops the upstream, and pays', async () => {
    upstream.answer(path, async (exchange) => {
      exchange.head(200, { 'content-type': 'audio/mpeg' });
      await exchange.write(audioAs('mp3'));
      await exchange.forever();
    });
    const arrived = upstream.nextRequest();
    const response = await speak();
    const reader = readerOf(response);
    await reader.read();
    await reader.cancel();
    await (await arrived).aborted;
    expect(await parley.recordOf(response)).toMatchObject({ state: 'cancelled', fairUseUnits: 12 });
  });
});

function readerOf(response: Response): ReadableStreamDefaultReader<Uint8Array> {
  if (response.body === null) throw new Error('the answer has no body');
  return response.body.getReader();
}

/** The value after it stops changing. */
async function restOf(value: () => number): Promise<number> {
  for (let last = Number.NaN; ; ) {
    const now = value();
    if (now === last) return now;
    last = now;
    await sleep(300);
  }
}

/** 16-bit mono WAV from a server that does not know the length yet. */
function wav(rate: number, dataBytes: number): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.writeUInt32LE(0xffffffff, 4);
  head.write('WAVEfmt ', 8, 'latin1');
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate * 2, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36, 'latin1');
  head.writeUInt32LE(0xffffffff, 40);
  return Buffer.concat([head, Buffer.alloc(dataBytes)]);
}
