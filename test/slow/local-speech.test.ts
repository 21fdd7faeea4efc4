/** Speech and transcription by the real sherpa-onnx, with tiny models: letters become tones, tones become letters. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { loadSherpa } from '../../src/engines/sherpa/addon.ts';
import { voiceConfig } from '../../src/engines/sherpa/server.ts';
import { createSpeak } from '../../src/engines/sherpa/speech.ts';
import { ModelStore } from '../../src/models/model-store.ts';
import { readPage } from '../clients/page.ts';
import { parley as command, scratchFolder, serve } from '../support/command-line.ts';
import { installRuntime } from '../support/installed-runtime.ts';
import { storeFiles } from '../support/local-models.ts';
import { errorOf, type Parley, startParley } from '../support/parley.ts';
import {
  recogniserTokens,
  tinyRecogniser,
  tinyVoice,
  voiceMetadata,
  voiceTokens,
} from '../support/tiny-onnx.ts';
import { processesWith } from '../support/tiny-program.ts';

const page = readPage('../local-speech');
/** The arguments of a command of the page. */
const argumentsOf = (step: string) =>
  [...page.command(step).matchAll(/'([^']*)'|(\S+)/g)]
    .map(([, quoted, word = '']) => quoted ?? word)
    .slice(1);

const folder = scratchFolder();
const { missing, stderr, runtimes } = await installRuntime(folder, argumentsOf('install'));
afterAll(() => folder.remove());

const speech = { type: 'speech', runtime: 'sherpa' } as const;
const voices = [
  { name: 'anna', language: 'en-GB' },
  { name: 'berta', language: 'de-DE' },
];
const { sample_rate: _, ...withoutRate } = voiceMetadata;
const broken = { 'wrong-kind': 'speech', truncated: 'speech', exchanged: 'speech', 'without-rate': 'speech' };
const sentences = ['the quick brown fox jumps.', 'over a lazy dog!', 'who barks?'];
const spoken = 'the quick brown fox jumps over a lazy dog who barks';

interface Transcript {
  readonly text: string;
  readonly language: string;
  readonly duration: number;
  readonly words: readonly { readonly word: string; readonly start: number; readonly end: number }[];
}

it.skipIf(missing)('plays docs/local-speech.md', async () => {
  expect(stderr).toContain('GPL-3.0-or-later');
  const options = { cwd: folder.path };
  const write = (name: string, model: Uint8Array, tokens: string) => {
    mkdirSync(folder.file(name));
    writeFileSync(folder.file(`${name}/model.onnx`), model);
    writeFileSync(folder.file(`${name}/tokens.txt`), tokens);
  };
  write('voice', tinyVoice(), voiceTokens);
  write('recogniser', tinyRecogniser(), recogniserTokens);
  writeFileSync(folder.file('parley.yaml'), page.file('parley.yaml'));
  for (const step of ['voice', 'recogniser', 'doctor']) {
    expect(await command(argumentsOf(step), options)).toMatchObject({ code: 0 });
  }
  const serving = await serve(argumentsOf('serve').slice(1), options);
  expect(await command(argumentsOf('speak'), options)).toMatchObject({ code: 0 });
  const { stdout } = await command(argumentsOf('transcribe'), options);
  await serving.close();
  expect(stdout.trim()).toBe('good morning');
});

describe.skipIf(missing)(`speech and transcription by sherpa-onnx${missing ? ` (${missing})` : ''}`, () => {
  const file = folder.file('models.yaml');
  const types = { voice: 'speech', ear: 'transcription', ...broken };
  const models = Object.entries(types).map(([id, type]) => ({ id, type, engine: 'local' }));
  const settings = { engines: { local: { kind: 'local' } }, models };
  let parley: Parley;
  const reload = () => {
    const overrides = {
      dataDir: parley.dataDir,
      server: { port: 0 },
      log: { level: 'silent' },
      limits: { failedKeysPerMinuteMax: 0 },
    };
    return parley.app.reload(loadConfig({ env: {}, file, overrides }));
  };
  beforeAll(async () => {
    writeFileSync(file, JSON.stringify(settings));
    parley = await startParley({ file });
    symlinkSync(runtimes, join(parley.dataDir, 'runtimes'));
    const tokens = Buffer.from(voiceTokens);
    const store = (id: string, model: Uint8Array) =>
      storeFiles(parley.dataDir, { id, ...speech, voices }, { 'model.onnx': model, 'tokens.txt': tokens });
    for (const id of ['voice', 'truncated', 'exchanged']) store(id, tinyVoice());
    store('wrong-kind', tinyRecogniser());
    store('without-rate', tinyVoice(withoutRate));
    storeFiles(
      parley.dataDir,
      { id: 'ear', type: 'transcription', runtime: 'sherpa', languages: ['en'] },
      { 'model.onnx': tinyRecogniser(), 'tokens.txt': Buffer.from(recogniserTokens) },
    );
    await reload();
  });
  afterAll(() => parley.close());

  const speak = (model: string, format: string, input = sentences.join(' ')) =>
    parley.postJson('/audio/speech', { model, input, voice: 'anna', response_format: format });
  const transcribe = async (audio: Blob): Promise<Transcript> => {
    const form = new FormData();
    form.set('file', audio, 'speech');
    form.set('response_format', 'verbose_json');
    form.append('timestamp_granularities[]', 'word');
    const response = await parley.call('/audio/transcriptions', { method: 'POST', body: form });
    expect(response.status).toBe(200);
    return (await response.json()) as Transcript;
  };
  const running = () => processesWith(join(parley.dataDir, 'sockets'));

  it('lists voices with their languages, and starts nothing for that', async () => {
    const { data } = (await (await parley.call('/models?type=speech')).json()) as {
      data: readonly { readonly id: string; readonly voiceDetails: object }[];
    };
    expect(data.find(({ id }) => id === 'voice')).toMatchObject({
      defaultVoice: 'anna',
      voiceDetails: [
        { id: 'anna', language: 'en-GB' },
        { id: 'berta', language: 'de-DE' },
      ],
    });
    expect(running()).toEqual([]);
  });

  it.each(['mp3', 'opus', 'flac', 'wav'])(
    'speaks %s and hears it again, with the time of each word',
    async (format) => {
      const response = await speak('voice', format);
      expect(response.status).toBe(200);
      const transcript = await transcribe(await response.blob());
      expect(transcript).toMatchObject({ text: spoken, language: 'english' });
      const words = transcript.words.map(({ word }) => word);
      expect(words.join(' ')).toBe(spoken);
      // Each letter and each space takes 180 ms.
      for (const { word, start, end } of transcript.words) {
        expect(end - start).toBeGreaterThan(word.length * 0.18 - 0.18);
        expect(end - start).toBeLessThan(word.length * 0.18 + 0.12);
      }
      expect(await parley.recordOf(response)).toMatchObject({ state: 'ok' });
    },
  );

  it('gives the first sentence before it speaks the next', async () => {
    const model = new ModelStore(parley.dataDir).resolve('voice');
    const { OfflineTts } = loadSherpa(join(runtimes, 'sherpa'));
    const voice = await OfflineTts.createAsync(await voiceConfig(model, 1));
    const begun: string[] = [];
    const generateAsync: typeof voice.generateAsync = (request) => {
      begun.push(request.text);
      return voice.generateAsync(request);
    };
    const speak = createSpeak({ sampleRate: voice.sampleRate, generateAsync });
    const request = { input: sentences.join(' '), speaker: 0, reader: undefined, format: 'wav' } as const;
    const stop = new AbortController();
    for await (const bytes of speak(request, stop.signal)) {
      expect(bytes.length).toBeGreaterThan(0);
      break;
    }
    expect(begun.length).toBeLessThan(sentences.length);
    expect(begun[0]?.trim()).toBe(sentences[0]);
  });

  it('refuses a text without anything to speak, and charges nothing', async () => {
    const response = await speak('voice', 'mp3', '...');
    expect((await errorOf(response)).status).toBe(400);
    expect(await parley.recordOf(response)).toMatchObject({ state: 'failed', fairUseUnits: 0 });
  });

  it.each([
    ['wrong-kind', 'model.onnx (EncDecCTCModelBPE)'],
    ['without-rate', 'Loading model.onnx, tokens.txt: '],
  ])('names the file of a model that sherpa-onnx cannot use (%s)', async (id, reason) => {
    const { status, code, message } = await errorOf(await speak(id, 'mp3'));
    expect([status, code]).toEqual([503, 'engine_unavailable']);
    expect(message).toContain(reason);
  });

  it('names a file that was truncated or exchanged since the start', async () => {
    const fileOf = (id: string) => join(parley.dataDir, 'models/files', id, 'model.onnx');
    truncateSync(fileOf('truncated'), 5_000);
    expect((await errorOf(await speak('truncated', 'mp3'))).message).toContain(
      'model.onnx of the model truncated has',
    );
    const changed = readFileSync(fileOf('exchanged'));
    changed.writeUInt8(changed.readUInt8(5_000) ^ 1, 5_000);
    writeFileSync(fileOf('exchanged'), changed);
    expect((await errorOf(await speak('exchanged', 'mp3'))).message).toContain(
      'model.onnx of the model exchanged has another content than its manifest says.',
    );
  });

  it('says how to install the runtime where it is missing', async () => {
    rmSync(join(parley.dataDir, 'runtimes'));
    writeFileSync(file, JSON.stringify({ ...settings, engines: { local: { kind: 'local', threads: 1 } } }));
    await reload();
    const { message } = await errorOf(await speak('voice', 'mp3'));
    expect(message).toContain('Run `parley runtimes install sherpa`.');
  });
});
