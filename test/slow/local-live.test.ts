/** Speech that the real sherpa-onnx hears while it is spoken, with a tiny model of streams. */
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { scratchFolder } from '../support/command-line.ts';
import { installRuntime } from '../support/installed-runtime.ts';
import { LiveClient } from '../support/live-client.ts';
import { storeFiles } from '../support/local-models.ts';
import { type Parley, startParley } from '../support/parley.ts';
import { recogniserTokens, tinyStreamingRecogniser, tinyVoice, voiceTokens } from '../support/tiny-onnx.ts';
import { processesWith } from '../support/tiny-program.ts';

const folder = scratchFolder();
const { missing, runtimes } = await installRuntime(folder, ['runtimes', 'install', 'sherpa', '--yes']);
afterAll(() => folder.remove());

const spoken = 'the quick brown fox jumps over a lazy dog';
/** The rate of PCM from `POST /audio/speech`. */
const sampleRate = 24_000;

describe.skipIf(missing)(`live speech by sherpa-onnx${missing ? ` (${missing})` : ''}`, () => {
  const file = folder.file('models.yaml');
  let parley: Parley;
  let audio: Int16Array;

  beforeAll(async () => {
    const models = Object.entries({ voice: 'speech', ear: 'transcription' });
    writeFileSync(
      file,
      JSON.stringify({
        engines: { local: { kind: 'local', idleMs: 0, callsMax: 1 } },
        models: models.map(([id, type]) => ({ id, type, engine: 'local' })),
      }),
    );
    parley = await startParley({ file });
    symlinkSync(runtimes, join(parley.dataDir, 'runtimes'));
    storeFiles(
      parley.dataDir,
      { id: 'voice', type: 'speech', runtime: 'sherpa', voices: [{ name: 'anna', language: 'en-GB' }] },
      { 'model.onnx': tinyVoice(), 'tokens.txt': Buffer.from(voiceTokens) },
    );
    storeFiles(
      parley.dataDir,
      { id: 'ear', type: 'transcription', runtime: 'sherpa', languages: ['en'] },
      { 'model.onnx': tinyStreamingRecogniser(), 'tokens.txt': Buffer.from(recogniserTokens) },
    );
    const overrides = {
      dataDir: parley.dataDir,
      server: { port: 0 },
      log: { level: 'silent' },
      limits: { failedKeysPerMinuteMax: 0 },
    };
    await parley.app.reload(loadConfig({ env: {}, file, overrides }));
    audio = new Int16Array(await (await speak('pcm')).arrayBuffer());
  });
  afterAll(() => parley.close());

  const speak = (format: string) =>
    parley.postJson('/audio/speech', { model: 'voice', input: `${spoken}.`, response_format: format });
  const listen = () => {
    const client = new LiveClient(parley);
    client.configure({ sampleRate });
    return client;
  };
  const textSoFar = (client: LiveClient) => client.all('partial').at(-1)?.text ?? '';
  const half = () => Math.floor(audio.length / 2);

  it('gives the text while the turn is spoken, and the whole at its end', async () => {
    const client = listen();
    client.speak(audio.subarray(0, half()));
    await expect.poll(() => textSoFar(client)).toMatch(/^the quick brown/);
    expect(client.all('turn')).toEqual([]);
    client.speak(audio.subarray(half()));
    client.commit();
    expect((await client.next('turn')).text).toBe(spoken);
    const texts = client.all('partial').map(({ text }) => text);
    expect(texts.length).toBeGreaterThan(1);
    for (const text of texts) expect(spoken.startsWith(text)).toBe(true);
    expect(await client.finish()).toBeUndefined();
  });

  it('forgets a turn that the client clears', async () => {
    const client = listen();
    client.speak(audio.subarray(0, half()));
    await expect.poll(() => textSoFar(client)).not.toBe('');
    client.clear();
    client.speak(audio);
    client.commit();
    expect((await client.next('turn')).text).toBe(spoken);
    expect(await client.finish()).toBeUndefined();
  });

  it('hears several people in turn when one may call at a time', async () => {
    const clients = [listen(), listen()];
    for (const turn of [1, 2]) {
      for (const client of clients) {
        client.speak(audio);
        client.commit();
      }
      for (const client of clients) expect((await client.next('turn', turn)).text).toBe(spoken);
    }
    for (const client of clients) expect(await client.finish()).toBeUndefined();
  });

  it('fails the turn when the program is killed, and hears the next one', async () => {
    const client = listen();
    client.speak(audio.subarray(0, half()));
    await expect.poll(() => textSoFar(client)).not.toBe('');
    const [pid = 0] = processesWith(join(parley.dataDir, 'sockets/local-ear'));
    process.kill(-pid, 'SIGKILL');
    expect((await client.next('failure')).code).toBe('upstream_error');
    // The audio until the commit belongs to the turn that failed.
    client.commit();
    client.speak(audio);
    client.commit();
    expect((await client.next('turn')).text).toBe(spoken);
    client.leave();
  });

  it('transcribes a file with the times of its words', async () => {
    const form = new FormData();
    form.set('file', await (await speak('wav')).blob(), 'speech.wav');
    form.set('response_format', 'verbose_json');
    form.append('timestamp_granularities[]', 'word');
    const response = await parley.call('/audio/transcriptions', { method: 'POST', body: form });
    const { text, words } = (await response.json()) as {
      readonly text: string;
      readonly words: readonly { readonly word: string; readonly start: number }[];
    };
    expect(text).toBe(spoken);
    expect(words.map(({ word }) => word).join(' ')).toBe(spoken);
    // Each letter and each space takes 180 ms.
    for (const [at, { start }] of words.entries()) {
      const letters = words.slice(0, at).reduce((sum, { word }) => sum + word.length + 1, 0);
      expect(Math.abs(start - letters * 0.18)).toBeLessThan(0.15);
    }
  });
});
