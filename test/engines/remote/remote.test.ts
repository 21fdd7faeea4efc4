/** Another Parley as an engine: answers are passed on unchanged; errors about this server's key are not. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, fromBinary, type JsonObject, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatCompletionParams,
  ChatCompletionParamsSchema,
  ChatCompletionSchema,
} from '../../../gen/parley/chat/v1/chat_pb.ts';
import { loadConfig } from '../../../src/config/config.ts';
import type { TranscriptionEvent } from '../../../src/core/entities/engine.ts';
import { type ErrorCode, errorTable, ParleyError } from '../../../src/core/values/errors.ts';
import { play, playingEngines, recording, secret } from '../../conformance/play.ts';
import { partBytes, Watch, watchedEngines } from '../../conformance/watched-engines.ts';
import { makeCertificate } from '../../support/certificates.ts';
import { fakeChat, fakeSpeech, fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { freePort } from '../../support/http-server.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';
import { Random } from '../../support/random.ts';
import { openRemote, type RemoteEngine, type RemoteOptions, saying } from '../../support/remote-engine.ts';

const soon = { timeout: 20_000 };
const never = new AbortController().signal;
const speechOf = (input: string) => ({ input, voice: 'one', format: 'pcm' }) as const;
const addressOf = ({ baseUrl }: Parley) => new URL(baseUrl).host;

/** The error that was thrown, which must be a ParleyError. */
async function failureOf(work: Promise<unknown>): Promise<ParleyError> {
  const thrown: unknown = await work.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
  if (thrown instanceof ParleyError) return thrown;
  throw thrown;
}

async function all<T>(parts: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const part of parts) list.push(part);
  return list;
}

describe('the models of a remote Parley', () => {
  it('are read in the background, and kept if they cannot be read again', async () => {
    const inner = await startParley({ engines: playingEngines() });
    const remote = openRemote({ address: addressOf(inner), apiKey: inner.apiKey, catalogEveryMs: 1_000 });
    expect(remote.speech.availability()).toMatchObject({ available: false });
    expect(() => remote.speech.voices()).toThrow(expect.objectContaining({ code: 'engine_unavailable' }));
    expect(remote.chat.availability()).toEqual({ available: true });

    await expect.poll(() => remote.speech.availability(), soon).toEqual({ available: true });
    const voices = { voices: [{ id: 'one', language: 'en-US' }], defaultVoice: 'one' };
    expect(remote.speech.voices()).toEqual(voices);
    await inner.close();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(remote.speech.voices()).toEqual(voices);
    await remote.close();
  });

  it('are missed in the log if the remote lacks a configured one', async () => {
    const inner = await startParley({ engines: playingEngines() });
    const { apiKey } = inner;
    const models = { flite: 'tts-9', eliza: 'flite' };
    const remote = openRemote({ address: addressOf(inner), apiKey, models });
    await expect
      .poll(() => remote.speech.availability(), soon)
      .toMatchObject({ reason: expect.stringContaining('tts-9') });
    expect(remote.chat.availability()).toMatchObject({ available: false });
    expect(remote.transcription.availability()).toEqual({ available: true });
    const logged = remote.logged.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(logged).toEqual([expect.stringContaining('the speech model tts-9')]);
    await Promise.all([remote.close(), inner.close()]);
  });

  it('are requested until the remote is up', async () => {
    const port = await freePort();
    const remote = openRemote({ address: `dns:///127.0.0.1:${port}`, apiKey: undefined });
    expect((await failureOf(remote.chat.complete(saying('x'), never))).httpStatus).toBe(502);
    const inner = await startParley({ engines: playingEngines(), settings: { server: { port } } });
    await expect.poll(() => remote.logged.map(({ level }) => level), soon).toEqual(['warn', 'info', 'error']);
    // The server has no key, and logs that once.
    expect(remote.logged.at(-1)?.message).toContain('could not be read');
    await Promise.all([remote.close(), inner.close()]);
  });
});

describe('a remote chat', () => {
  let seen: ChatCompletionParams | undefined;
  let answer: ChatCompletion;
  let chunks: readonly ChatCompletionChunk[] = [];
  let inner: Parley;
  let remote: RemoteEngine;
  const random = new Random(1);

  beforeAll(async () => {
    const chat = fakeChat({
      complete: async (params) => {
        seen = params;
        return answer;
      },
      stream: async function* (params) {
        seen = params;
        yield* chunks;
      },
    });
    inner = await startParley({ engines: withFakes({ chat }), settings: { models: [innerChat] } });
    remote = openRemote({
      address: addressOf(inner),
      apiKey: inner.apiKey,
      models: { eliza: 'inner-eliza' },
    });
  });
  afterAll(() => Promise.all([remote.close(), inner.close()]));

  /** An unknown field: number 9000, a string. */
  const unknown = Buffer.from([0xc2, 0xb2, 0x04, 3, ...Buffer.from('new')]);
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };

  it('passes on every parameter and every field of the answer, known or unknown', async () => {
    for (let round = 0; round < 30; round++) {
      const other = randomObject(random, 3);
      const asked = fromBinary(
        ChatCompletionParamsSchema,
        Buffer.concat([
          toBinary(ChatCompletionParamsSchema, { ...saying('Hello.'), other, temperature: 0.5 }),
          unknown,
        ]),
      );
      const choices = [
        { message: { role: 'assistant', other: randomObject(random, 3) }, finishReason: 'stop' },
      ];
      const given = create(ChatCompletionSchema, { id: 'x', choices, usage, other: randomObject(random, 3) });
      answer = fromBinary(
        ChatCompletionSchema,
        Buffer.concat([toBinary(ChatCompletionSchema, given), unknown]),
      );
      const whole = await remote.chat.complete(asked, never);
      expect(seen).toEqual({ ...asked, model: 'inner-eliza', maxTokens: expect.any(Number) });
      expect({ ...whole, model: '' }).toEqual({ ...answer, model: '' });
      expect(whole.$unknown).toHaveLength(1);
    }
  });

  it('passes on every chunk, with its unknown fields and the usage on the last', async () => {
    const deltas = [{ role: 'assistant' }, { content: 'a', other: randomObject(random, 3) }, {}];
    chunks = deltas.map((delta, index) => {
      const choice = { delta, ...(index === 2 && { finishReason: 'stop' }) };
      const other = randomObject(random, 2);
      return create(ChatCompletionChunkSchema, {
        id: 'x',
        object: 'chat.completion.chunk',
        created: 1n,
        choices: [choice],
        other,
        ...(index === 2 && { usage }),
      });
    });
    const expected = chunks.map((chunk) => ({ ...chunk, model: 'inner-eliza' }));
    expect(await all(remote.chat.stream(saying('Hello.'), never))).toEqual(expected);
    expect(seen?.model).toBe('inner-eliza');
  });

  it('does not change the request, which the next engine may get', async () => {
    const params = saying('Hello.');
    await all(remote.chat.stream(params, never));
    expect(params.model).toBe('eliza');
  });

  it('refuses a request that is larger than a remote accepts', async () => {
    const failure = await failureOf(remote.chat.complete(saying('x'.repeat(21 * 1024 * 1024)), never));
    expect(failure).toMatchObject({ code: 'payload_too_large', hasNotRun: true });
  });
});

const innerChat = {
  id: 'inner-eliza',
  type: 'chat',
  engine: 'builtin',
  price: { input: 0.1, output: 0.4 },
} as const;

function randomObject(random: Random, depth: number): JsonObject {
  const names = Array.from(
    { length: random.between(1, 4) },
    () => `${random.pick(['a', 'ü', ' ', '🎉', 'model'])}${random.below(9)}`,
  );
  const value = () => {
    const scalar = random.pick([null, true, -1.5, 2 ** 53, '', '“x”', []]);
    return depth > 0 && random.onceIn(2) ? randomObject(random, depth - 1) : scalar;
  };
  return Object.fromEntries(names.map((name) => [name, value()]));
}

describe('an error of a remote', () => {
  let inner: Parley;
  let remote: RemoteEngine;
  beforeAll(async () => {
    inner = await startParley({ engines: playingEngines() });
    remote = openRemote({ address: addressOf(inner), apiKey: inner.apiKey });
  });
  afterAll(() => Promise.all([remote.close(), inner.close()]));

  const withKey = async (
    apiKey: string | undefined,
    models: Record<string, string>,
    run: (remote: RemoteEngine) => Promise<unknown>,
  ) => {
    const other = openRemote({ address: addressOf(inner), apiKey, models });
    const failure = await failureOf(run(other));
    await other.close();
    return failure;
  };
  const speak = ({ speech }: RemoteEngine) => all(speech.synthesize(speechOf(play('say one')), never).audio);
  const chat = ({ chat }: RemoteEngine) => chat.complete(saying(play('say one')), never);

  it.each([
    ['about an unknown key', 'pk_unknown', {}, chat, 401, /key of this server/],
    ['about a key without the scope', { scopes: ['speech'] }, {}, chat, 403, /allow/],
    ['about an account without a plan', {}, {}, speak, 402, /plan/],
    ['about an account without credits', {}, {}, chat, 402, /credits/],
    [
      'about a model that it does not have',
      { credits: '1' },
      { eliza: 'gpt-9' },
      chat,
      400,
      /know the model name/,
    ],
  ] as const)(
    '%s is an `upstream_error` for the operator to fix',
    async (_, key, models, run, status, words) => {
      const apiKey = typeof key === 'string' ? key : await inner.newKey(key as never);
      const failure = await withKey(apiKey, models, run);
      expect(failure).toMatchObject({ code: 'upstream_error', httpStatus: status, isRefusal: false });
      expect(failure.message).toMatch(words);
      expect(failure.message).toMatch(/operator of this server/);
      expect(String(failure.cause)).toMatch(/req_|without an id/);
    },
  );

  const aboutTheRequest: readonly ErrorCode[] = [
    ...([
      'invalid_input',
      'input_too_long',
      'unknown_voice',
      'invalid_file',
      'unsupported_file_format',
    ] as const),
    ...(['payload_too_large', 'invalid_messages', 'invalid_parameter'] as const),
  ];

  it.each(Object.keys(errorTable) as ErrorCode[])(
    '%s keeps its status, and not its message',
    async (code) => {
      const script = play(`fail ${code} - 7`);
      const failure = await failureOf(remote.chat.complete(saying(script), never));
      const passes = aboutTheRequest.includes(code);
      expect(failure.code).toBe(passes ? code : 'upstream_error');
      expect(failure.httpStatus).toBe(errorTable[code].http);
      expect(failure.retryAfterSeconds).toBe(7);
      expect(failure.hasNotRun).toBe(false);
      expect(`${failure.message}${String(failure.cause)}`).not.toContain(secret);
      expect(String(failure.cause)).toContain(code);
    },
  );

  it('from its own upstream keeps that upstream’s status and Retry-After', async () => {
    const failure = await failureOf(remote.chat.complete(saying(play('fail upstream_error 429 30')), never));
    expect(failure).toMatchObject({ code: 'upstream_error', httpStatus: 429, retryAfterSeconds: 30 });
  });

  it('in the middle of a stream ends the stream, after everything before it', async () => {
    const script = play('say one', 'say two', 'fail upstream_error 503 9');
    const texts: string[] = [];
    const reading = (async () => {
      for await (const { choices } of remote.chat.stream(saying(script), never)) {
        texts.push(choices[0]?.delta?.content ?? '');
      }
    })();
    expect(await failureOf(reading)).toMatchObject({
      code: 'upstream_error',
      httpStatus: 503,
      retryAfterSeconds: 9,
    });
    expect(texts.join('')).toBe('onetwo');
  });
});

describe('a client that leaves', () => {
  let watch = new Watch('silent');
  let inner: Parley;
  let remote: RemoteEngine;
  beforeAll(async () => {
    inner = await startParley({ engines: watchedEngines(() => watch) });
    remote = openRemote({ address: addressOf(inner), apiKey: inner.apiKey });
  });
  afterAll(() => Promise.all([remote.close(), inner.close()]));

  const operations: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
    'a chat': (signal) => remote.chat.complete(saying('x'), signal),
    'a streamed chat': (signal) => all(remote.chat.stream(saying('x'), signal)),
    speech: (signal) => all(remote.speech.synthesize(speechOf('x'), signal).audio),
  };
  const rows = Object.keys(operations).flatMap((name) =>
    (['silent', 'one', 'endless'] as const).map((pace) => [name, pace] as const),
  );

  it.each(rows)('%s is stopped in the inner engine, at pace %s', async (name, pace) => {
    for (let round = 0; round < 5; round++) {
      watch = new Watch(pace);
      const stop = new AbortController();
      const reason = new ParleyError('request_cancelled');
      const running = failureOf(operations[name]?.(stop.signal) ?? Promise.resolve());
      await watch.begun;
      await new Promise((resolve) => setTimeout(resolve, 30));
      stop.abort(reason);
      expect(await running).toBe(reason);
      await watch.stopped;
    }
  });

  it('stops the inner engine when it stops reading, too', async () => {
    watch = new Watch('endless');
    for await (const _ of remote.chat.stream(saying('x'), never)) break;
    await watch.stopped;
  });

  it('makes no call if it has already left', async () => {
    watch = new Watch('silent');
    const reason = new ParleyError('request_cancelled');
    for (const run of Object.values(operations)) {
      expect(await failureOf(run(AbortSignal.abort(reason)))).toBe(reason);
    }
    await expect(
      Promise.race([watch.begun.then(() => 'begun'), new Promise((then) => setTimeout(then, 100, 'not'))]),
    ).resolves.toBe('not');
  });

  it('but first reads slowly slows the inner engine', async () => {
    watch = new Watch('endless');
    const audio = remote.speech.synthesize(speechOf('x'), never).audio[Symbol.asyncIterator]();
    await audio.next();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const partsHeld = watch.parts;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(watch.parts).toBe(partsHeld);
    expect(partsHeld * partBytes).toBeLessThan(4 * 1024 * 1024);
    await audio.return?.();
    await watch.stopped;
  });

  it('after its deadline: the deadline reaches the inner server, and is a 502 here', async () => {
    const hurried = openRemote({ address: addressOf(inner), apiKey: inner.apiKey, totalMs: 1_000 });
    watch = new Watch('one');
    const failure = await failureOf(all(hurried.chat.stream(saying('x'), never)));
    expect(failure).toMatchObject({ code: 'upstream_error', httpStatus: 502, hasNotRun: false });
    expect(failure.message).toContain('too long');
    await watch.stopped;
    await hurried.close();
  });
});

describe('its settings', () => {
  const read = (engine: { address: string }) => {
    const overrides = {
      engines: { far: { kind: 'remote', ...engine } },
      models: [{ ...innerChat, engine: 'far' }],
    };
    const { far } = loadConfig({ env: {}, file: undefined, overrides }).engines;
    return far;
  };

  it('need only an address', () => {
    expect(read({ address: 'dns:///speech.example.com:8080' })).toEqual({
      kind: 'remote',
      address: 'dns:///speech.example.com:8080',
      models: {},
      tls: false,
      connectionsMax: 16,
      connectMs: 5_000,
      totalMs: 600_000,
      keepaliveMs: 30_000,
      retriesMax: 2,
      catalogEveryMs: 60_000,
      repeatLostCalls: true,
    });
  });

  it.each([
    ['a URL, which gRPC would look up as a name', { address: 'http://127.0.0.1:8080' }, /address/],
    ['an authority without TLS', { address: 'a:1', tlsCa: 'ca.pem' }, /tlsCa/],
    ['a name without TLS', { address: 'a:1', tlsName: 'a.test' }, /tlsName/],
  ])('are refused with %s', (_, engine, words) => {
    expect(() => read(engine)).toThrow(words);
  });
});

describe('a connection', () => {
  it('is encrypted, and trusted only if its authority is', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-remote-'));
    const { cert, key } = makeCertificate('inner');
    const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    writeFileSync(tls.cert, cert);
    writeFileSync(tls.key, key);
    writeFileSync(join(folder, 'other.pem'), makeCertificate('other').cert);
    const inner = await startParley({ engines: playingEngines(), settings: { tls } });
    const say = async (settings: Partial<RemoteOptions>) => {
      const port = new URL(inner.baseUrl).port;
      const remote = openRemote({ address: `localhost:${port}`, apiKey: inner.apiKey, ...settings });
      const said = await remote.chat
        .complete(saying(play('say one')), never)
        .catch((error: unknown) => error);
      await remote.close();
      return said;
    };
    expect(await say({ tls: true, tlsCa: tls.cert })).toMatchObject({ choices: [{ finishReason: 'stop' }] });
    expect(await say({ tls: true, tlsCa: tls.cert, tlsName: 'elsewhere.test' })).toMatchObject({
      httpStatus: 502,
    });
    const refused = { code: 'upstream_error', httpStatus: 502, hasNotRun: true };
    expect(await say({ tls: true, tlsCa: join(folder, 'other.pem') })).toMatchObject(refused);
    expect(await say({ tls: false })).toMatchObject({ httpStatus: 502 });
    expect(() => openRemote({ address: 'x:1', apiKey: '', tls: true, tlsCa: join(folder, 'none') })).toThrow(
      /ENOENT/,
    );
    await inner.close();
    rmSync(folder, { recursive: true });
  });

  it('that cannot be made is awaited for `connectMs`', async () => {
    const silent = createServer(() => undefined);
    const port = await new Promise<number>((resolve) => {
      silent.listen(0, '127.0.0.1', () => resolve((silent.address() as { port: number }).port));
    });
    const remote = openRemote({ address: `127.0.0.1:${port}`, apiKey: undefined, connectMs: 300 });
    const failure = await failureOf(remote.chat.complete(saying('x'), never));
    expect(failure).toMatchObject({ code: 'upstream_error', httpStatus: 502, hasNotRun: true });
    await remote.close();
    silent.close();
  });

  it('gets others beside it when it is full, up to a limit', async () => {
    const inner = await startParley({ engines: playingEngines() });
    const remote = openRemote({ address: addressOf(inner), apiKey: inner.apiKey, connectionsMax: 2 });
    // The engine's own call for the list of models would use a slot.
    await expect.poll(() => remote.speech.availability(), soon).toEqual({ available: true });
    const stop = new AbortController();
    const waiting = Array.from({ length: 180 }, () =>
      failureOf(remote.chat.complete(saying(play('wait')), stop.signal)),
    );
    const full = await failureOf(remote.chat.complete(saying(play('say one')), never));
    expect(full).toMatchObject({ code: 'overloaded', hasNotRun: true, retryAfterSeconds: 1 });
    // All have reached an engine, so no call waits for another to end.
    await expect.poll(() => runningOf(inner), soon).toBe(180);
    stop.abort(new ParleyError('request_cancelled'));
    await Promise.all(waiting);
    expect(await remote.chat.complete(saying(play('say one')), never)).toMatchObject({ id: 'chat-1' });
    await Promise.all([remote.close(), inner.close()]);
  });
});

async function runningOf({ app }: Parley): Promise<number> {
  const { items } = await app.store.usage.list({}, { size: 1000, after: undefined });
  return items.filter(({ state, operation }) => state === 'started' && operation === 'chat').length;
}

describe('transcription by a remote', () => {
  const { promise: heard, resolve: goOn } = Promise.withResolvers<void>();
  const word = (text: string, startMs: number) => ({ word: text, startMs, endMs: startMs + 100 });
  const segments = [
    {
      startMs: 0,
      endMs: 250,
      text: 'one two',
      words: [word('one', 0), word('two', 125)],
      avgLogprob: -0.5,
      details: { seek: 3, tokens: [7, 8], temperature: 0.5, compressionRatio: 1.5, noSpeechProb: 0.25 },
    },
    {
      startMs: 333.125,
      endMs: 500,
      text: 'three',
      words: [word('three', 333.125)],
      avgLogprob: undefined,
      details: { tokens: [] },
    },
  ];
  let inner: Parley;
  let remote: RemoteEngine;
  let calls = 0;
  let hints: unknown;

  beforeAll(async () => {
    const transcription = fakeTranscription({
      async *transcribe({ prompt, temperature, languages, keywords }) {
        calls++;
        hints = { prompt, temperature, languages, keywords };
        for (const segment of segments) {
          yield { kind: 'segment', segment };
          await heard;
        }
        yield { kind: 'done', durationMs: 1_000, language: 'german', text: 'One two: three.' };
      },
    });
    inner = await startParley({ engines: withFakes({ transcription }) });
    remote = openRemote({ address: addressOf(inner), apiKey: inner.apiKey });
  });
  afterAll(() => Promise.all([remote.close(), inner.close()]));

  const request = { audio: recording('hear 900'), fileName: 'a.wav', language: 'de', signal: never };
  const done: TranscriptionEvent = {
    kind: 'done',
    durationMs: 1_000,
    language: 'german',
    text: 'One two: three.',
  };

  it('sends the length first, and each segment as soon as it is recognised', async () => {
    const events = remote.transcription.transcribe(request)[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual({ kind: 'audio', durationMs: 900 });
    // The inner engine has not finished yet.
    expect((await events.next()).value).toEqual({ kind: 'segment', segment: { ...segments[0], words: [] } });
    goOn();
    expect((await events.next()).value).toEqual({ kind: 'segment', segment: { ...segments[1], words: [] } });
    expect((await events.next()).value).toEqual(done);
    expect((await events.next()).done).toBe(true);
  });

  it('puts each word into its segment if words are requested', async () => {
    goOn();
    const events = await all(remote.transcription.transcribe({ ...request, words: true }));
    expect(events.slice(1)).toEqual([...segments.map((segment) => ({ kind: 'segment', segment })), done]);
  });

  it('passes on the hints of the client', async () => {
    goOn();
    const given = { prompt: 'Curie', temperature: 0.5, languages: ['de', 'pl'], keywords: ['Pasteur'] };
    await all(remote.transcription.transcribe({ ...request, ...given }));
    expect(hints).toEqual(given);
  });

  it('is not called for an account without enough allowance', async () => {
    const outer = await startBefore(inner, { fairUse: { trialUnitsPerMonth: 100 } });
    calls = 0;
    const response = await upload(outer, recording('hear 3600000'));
    expect(await errorOf(response)).toMatchObject({ status: 402, code: 'fair_use_limit_reached' });
    expect(calls).toBe(0);
    await outer.close();
  });

  it('serves a node with its own chat', async () => {
    goOn();
    const outer = await startBefore(inner, {});
    const transcript = await upload(outer, recording('hear 900'));
    expect(await transcript.json()).toMatchObject({ text: 'One two: three.' });
    const messages = [{ role: 'user', content: 'I am sad.' }];
    const chat = await outer.postJson('/chat/completions', { model: 'eliza', messages });
    expect(chat.status).toBe(200);
    expect(await outer.recordOf(transcript)).toMatchObject({ state: 'ok', fairUseUnits: 15 });
    await inner.close();
    const failed = await upload(outer, recording('hear 900'));
    expect(await errorOf(failed)).toMatchObject({ status: 502, code: 'upstream_error' });
    expect((await outer.postJson('/chat/completions', { model: 'eliza', messages })).status).toBe(200);
    await outer.close();
  });
});

describe('a remote whose model reports no times', () => {
  it('is asked for text, and refuses subtitles before its work', async () => {
    let calls = 0;
    const transcription = fakeTranscription({
      tellsTimes: false,
      async *transcribe() {
        calls++;
        yield { kind: 'done', durationMs: 900, language: 'english', text: 'Hello.' };
      },
    });
    const untimed = await startParley({ engines: withFakes({ transcription }) });
    const outer = await startBefore(untimed, {});
    const text = await upload(outer, recording('hear 900'));
    expect(await text.json()).toEqual({ text: 'Hello.', usage: { type: 'duration', seconds: 1 } });
    const subtitles = await upload(outer, recording('hear 900'), { response_format: 'srt' });
    expect(await errorOf(subtitles)).toMatchObject({
      status: 400,
      code: 'unsupported_response_format',
      message: expect.stringContaining('no times'),
    });
    expect(calls).toBe(1);
    await outer.close();
    await untimed.close();
  });
});

function upload(
  { call }: Parley,
  file: Buffer,
  fields: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  form.set('file', new Blob([new Uint8Array(file)]), 'a.wav');
  return call('/audio/transcriptions', { method: 'POST', body: form });
}

/** A server with remote transcription and its own chat. */
async function startBefore(inner: Parley, settings: object): Promise<Parley> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-edge-'));
  const apiKeyFile = join(folder, 'key');
  writeFileSync(apiKeyFile, inner.apiKey);
  const far = { kind: 'remote', address: addressOf(inner), apiKeyFile };
  const outer = await startParley({
    settings: {
      ...settings,
      engines: { builtin: { kind: 'builtin' }, far },
      models: [
        { id: 'pocketsphinx', type: 'transcription', engine: 'far' },
        { id: 'eliza', type: 'chat', engine: 'builtin', price: { input: 0.1, output: 0.4 } },
      ],
    },
  });
  rmSync(folder, { recursive: true });
  return outer;
}

describe('speech by a remote', () => {
  it('arrives while it is produced, in the voice of the model, with its length if known', async () => {
    const asked: unknown[] = [];
    const speech = fakeSpeech({
      synthesize: (request) => {
        asked.push(request);
        return { audio: parts(), durationMs: () => undefined };
      },
    });
    async function* parts() {
      yield Buffer.alloc(4_800);
      yield Buffer.alloc(4_800);
    }
    const inner = await startParley({ engines: withFakes({ speech }) });
    const remote = openRemote({ address: addressOf(inner), apiKey: inner.apiKey });
    const output = remote.speech.synthesize(speechOf('Hello.'), never);
    expect(Buffer.concat(await all(output.audio))).toHaveLength(9_600);
    expect(output.durationMs()).toBe(200);
    expect(asked).toMatchObject([{ input: 'Hello.', voice: 'one', format: 'pcm' }]);
    await Promise.all([remote.close(), inner.close()]);
  });
});
