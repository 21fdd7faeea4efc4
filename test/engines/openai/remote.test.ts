/** Another Parley as an engine: answers are passed on unchanged; errors about this server's key are not. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfigWithSources } from '../../../src/config/config.ts';
import type { TranscriptionEvent } from '../../../src/core/entities/engine.ts';
import { type ErrorCode, errorTable, ParleyError } from '../../../src/core/values/errors.ts';
import { play, playingEngines, recording, secret } from '../../conformance/play.ts';
import { partBytes, Watch, watchedEngines } from '../../conformance/watched-engines.ts';
import { fakeTranscription, withFakes } from '../../support/fake-engines.ts';
import { errorOf, type Parley, startParley } from '../../support/parley.ts';
import { openRemote, type RemoteEngine, saying } from '../../support/remote-engine.ts';

const never = new AbortController().signal;
const speechOf = (input: string) => ({ input, voice: 'one', format: 'pcm' }) as const;

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

describe('an error of a remote', () => {
  let inner: Parley;
  let remote: RemoteEngine;
  beforeAll(async () => {
    inner = await startParley({ engines: playingEngines() });
    remote = openRemote({ baseUrl: inner.baseUrl, apiKey: inner.apiKey });
  });
  afterAll(() => Promise.all([remote.close(), inner.close()]));

  const withKey = async (
    apiKey: string | undefined,
    models: Record<string, string>,
    run: (remote: RemoteEngine) => Promise<unknown>,
  ) => {
    const other = openRemote({ baseUrl: inner.baseUrl, apiKey, models });
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
      expect(String(failure.cause)).toMatch(status === 401 ? /invalid_api_key/ : /req_/);
    },
  );

  const aboutTheRequest: readonly ErrorCode[] = [
    ...([
      'invalid_input',
      'input_too_long',
      'unknown_voice',
      'invalid_file',
      'unsupported_file_format',
      'unsupported_response_format',
    ] as const),
    ...([
      'payload_too_large',
      'context_length_exceeded',
      'content_filter',
      'invalid_messages',
      'invalid_parameter',
    ] as const),
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
});

describe('a client that leaves', () => {
  let watch = new Watch('silent');
  let inner: Parley;
  let remote: RemoteEngine;
  beforeAll(async () => {
    inner = await startParley({ engines: watchedEngines(() => watch) });
    remote = openRemote({ baseUrl: inner.baseUrl, apiKey: inner.apiKey });
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

  it('but first reads slowly slows the inner engine', async () => {
    watch = new Watch('endless');
    const audio = remote.speech.synthesize(speechOf('x'), never).audio[Symbol.asyncIterator]();
    await audio.next();
    await new Promise((resolve) => setTimeout(resolve, 500));
    const partsHeld = watch.parts;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(watch.parts).toBe(partsHeld);
    expect(partsHeld * partBytes).toBeLessThan(8 * 1024 * 1024);
    await audio.return?.();
    await watch.stopped;
  });
});

describe('its settings', () => {
  const load = (engine: object) => {
    const file = join(folder, 'parley.yaml');
    writeFileSync(file, JSON.stringify({ engines: { far: { kind: 'remote', ...engine } }, models: [] }));
    const { config, warnings } = loadConfigWithSources({ env: {}, file });
    return { far: config.engines['far'], warnings: warnings.map((one) => one.replace(/^.*: `/, '`')) };
  };
  const folder = mkdtempSync(join(tmpdir(), 'parley-remote-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('need only a base URL, and wait as long as the other server may work', () => {
    const { far, warnings } = load({ baseUrl: 'https://a.test/api/v1' });
    expect(warnings).toEqual([]);
    expect(far).toMatchObject({ kind: 'remote', baseUrl: 'https://a.test/api/v1', firstByteMs: 600_000 });
    expect(far).toMatchObject({ callsMax: 512, repeatLostCalls: true, realtime: false });
    expect(far).not.toHaveProperty('transcriptionFormat');
  });

  it.each([
    ['dns:///a.test:443', true, 'https://a.test:443/api/v1'],
    ['dns:a.test:8080', false, 'http://a.test:8080/api/v1'],
    ['127.0.0.1:8080', false, 'http://127.0.0.1:8080/api/v1'],
    ['ipv6:[::1]:8080', undefined, 'http://[::1]:8080/api/v1'],
  ])('of earlier versions still name a server: %s', (address, tls, baseUrl) => {
    const { far, warnings } = load({ address, ...(tls !== undefined && { tls }) });
    expect(far).toMatchObject({ baseUrl });
    expect(warnings).toEqual([
      `\`engines.far.address\` is replaced by \`baseUrl: ${baseUrl}\`. Write that instead.`,
    ]);
  });

  it('of earlier versions have no effect, and are named', () => {
    const { far, warnings } = load({
      address: 'ipv4:10.0.0.1:80,10.0.0.2:80',
      tlsCa: 'ca.pem',
      keepaliveMs: 1_000,
    });
    expect(far).toMatchObject({ baseUrl: 'http://10.0.0.1:80/api/v1' });
    expect(warnings).toEqual([
      expect.stringContaining('The other addresses are not called: name an engine for each of them.'),
      expect.stringMatching(/^`engines\.far\.tlsCa` has no effect any more\. .*NODE_EXTRA_CA_CERTS/),
      expect.stringContaining('`engines.far.keepaliveMs`'),
    ]);
  });

  it('are refused with an address that names no server', () => {
    expect(() => load({ address: 'unix:/run/parley.sock' })).toThrow(/address/);
  });
});

describe('a call whose connection is lost before the answer begins', () => {
  const script = play('say one');
  let inner: Parley;
  beforeAll(async () => {
    inner = await startParley({ engines: playingEngines() });
  });
  afterAll(() => inner.close());

  /** A server that closes the first connections on which a request arrives, and passes the others on. */
  async function losing(lostMax: number) {
    let lost = 0;
    const server = createServer((client) => {
      client.once('data', (head) => {
        if (lost++ < lostMax) {
          client.destroy();
          return;
        }
        const behind = connect(Number(new URL(inner.baseUrl).port), '127.0.0.1');
        behind.write(head);
        client.pipe(behind).pipe(client);
        for (const socket of [client, behind]) socket.on('error', () => socket.destroy());
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    return { server, baseUrl: `http://127.0.0.1:${port}/api/v1`, lost: () => Math.min(lost, lostMax) };
  }

  it.each([
    ['is made once more', 1, true, 'one'],
    ['fails if that is lost, too', 2, true, 502],
    ['fails at once without `repeatLostCalls`', 1, false, 502],
  ])('%s', async (_, lostMax, repeatLostCalls, outcome) => {
    const { server, baseUrl, lost } = await losing(lostMax);
    const remote = openRemote({ baseUrl, apiKey: inner.apiKey, repeatLostCalls, voices: { one: 'en' } });
    const asked = remote.chat.complete(saying(script), never);
    if (outcome === 502) expect(await failureOf(asked)).toMatchObject({ httpStatus: 502, hasNotRun: false });
    else expect((await asked).choices[0]?.message).toMatchObject({ role: 'assistant' });
    expect(lost()).toBe(lostMax);
    await remote.close();
    server.close();
  });
});

describe('transcription by a remote', () => {
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
      startMs: 333,
      endMs: 500,
      text: 'three',
      words: [word('three', 333)],
      avgLogprob: -0.25,
      details: { tokens: [9] },
    },
  ];
  let inner: Parley;
  let remote: RemoteEngine;
  let hints: unknown;

  beforeAll(async () => {
    const transcription = fakeTranscription({
      async *transcribe({ prompt, temperature, languages, keywords }) {
        hints = { prompt, temperature, languages, keywords };
        for (const segment of segments) yield { kind: 'segment', segment };
        yield { kind: 'done', durationMs: 1_000, language: 'german', text: 'One two: three.' };
      },
    });
    inner = await startParley({ engines: withFakes({ transcription }) });
    remote = openRemote({ baseUrl: inner.baseUrl, apiKey: inner.apiKey });
  });
  afterAll(() => Promise.all([remote.close(), inner.close()]));

  const request = { audio: recording('hear 900'), fileName: 'a.wav', language: 'de', signal: never };
  const done: TranscriptionEvent = {
    kind: 'done',
    durationMs: 1_000,
    language: 'german',
    text: 'One two: three.',
  };

  it('sends the length first, and the segments with the whole transcript', async () => {
    expect(await all(remote.transcription.transcribe(request))).toMatchObject([
      { kind: 'audio', durationMs: 900 },
      { kind: 'audio', durationMs: 1_000 },
      ...segments.map((segment) => ({ kind: 'segment', segment: { ...segment, words: [] } })),
      done,
    ]);
  });

  it('puts each word into its segment if words are requested', async () => {
    const events = await all(remote.transcription.transcribe({ ...request, words: true }));
    expect(events.slice(2)).toMatchObject([
      ...segments.map((segment) => ({ kind: 'segment', segment })),
      done,
    ]);
  });

  it('passes on the hints of the client', async () => {
    const given = { prompt: 'Curie', temperature: 0.5, languages: ['de', 'pl'], keywords: ['Pasteur'] };
    await all(remote.transcription.transcribe({ ...request, ...given }));
    expect(hints).toEqual(given);
  });
});

describe('a remote whose model reports no times', () => {
  it('is asked for text, and fails for subtitles', async () => {
    const transcription = fakeTranscription({
      reportsTimes: false,
      async *transcribe() {
        yield { kind: 'done', durationMs: 900, language: 'english', text: 'Hello.' };
      },
    });
    const untimed = await startParley({ engines: withFakes({ transcription }) });
    const outer = await startBefore(untimed, {});
    const text = await upload(outer, recording('hear 900'));
    expect(await text.json()).toEqual({ text: 'Hello.', usage: { type: 'duration', seconds: 1 } });
    const subtitles = await upload(outer, recording('hear 900'), { response_format: 'srt' });
    expect(await errorOf(subtitles)).toMatchObject({
      status: 502,
      code: 'upstream_error',
      message: expect.stringContaining('no times'),
    });
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
  const far = { kind: 'remote', baseUrl: inner.baseUrl, apiKeyFile };
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
