import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { tokensOf, typedFiles } from '../../../src/engines/sherpa/model-files.ts';
import { inSherpaForm, publishedVoice } from '../../../src/engines/sherpa/published-voice.ts';
import { recogniserConfig, voiceConfig } from '../../../src/engines/sherpa/server.ts';
import { isStreaming, streamingConfig } from '../../../src/engines/sherpa/streaming-config.ts';
import { scratchFolder } from '../../support/command-line.ts';
import { tinyRecogniser, tinyVoice } from '../../support/tiny-onnx.ts';

const folder = scratchFolder();
afterAll(() => folder.remove());

let count = 0;
function modelOf(contents: Readonly<Record<string, Uint8Array>>) {
  const files = Object.entries(contents).map(([name, bytes]) => {
    const path = folder.file(`${count++}`);
    writeFileSync(path, bytes);
    return { name, path };
  });
  const pathOf = (name: string) => files.find((file) => file.name === name)?.path;
  return { model: { id: 'mine', files }, pathOf };
}

const tokens = Buffer.from('a 0\n');
const voiceOf = (type: string) => tinyVoice({ model_type: type });

const piperConfig = {
  audio: { sample_rate: 22_050 },
  espeak: { voice: 'de' },
  language: { name_english: 'German' },
  num_speakers: 2,
  phoneme_id_map: { _: [0], ' ': [3], '\n': [4], a: [14] },
};

describe('the configuration of a voice', () => {
  it('has the files of a Piper voice', () => {
    const { model, pathOf } = modelOf({
      'voice.onnx': voiceOf('vits'),
      'tokens.txt': tokens,
      'data/phontab': tokens,
    });
    const vits = { model: pathOf('voice.onnx'), tokens: pathOf('tokens.txt'), dataDir: folder.path };
    expect(voiceConfig(model, 3)).toEqual({ model: { vits, numThreads: 3 }, maxNumSentences: 1 });
  });

  it('has the styles and the lexicons of Kokoro, and the vocoder of Matcha', () => {
    const kokoro = modelOf({
      'model.onnx': voiceOf('kokoro'),
      'voices.bin': tokens,
      'lexicon-us-en.txt': tokens,
      'lexicon-zh.txt': tokens,
    });
    const lexicon = [kokoro.pathOf('lexicon-us-en.txt'), kokoro.pathOf('lexicon-zh.txt')].join(',');
    expect(voiceConfig(kokoro.model, 1)).toMatchObject({
      model: { kokoro: { voices: kokoro.pathOf('voices.bin'), lexicon } },
    });
    const matcha = modelOf({ 'steps-3.onnx': voiceOf('matcha-tts'), 'vocos-22khz.onnx': voiceOf('') });
    expect(voiceConfig(matcha.model, 1)).toMatchObject({
      model: {
        matcha: { acousticModel: matcha.pathOf('steps-3.onnx'), vocoder: matcha.pathOf('vocos-22khz.onnx') },
      },
    });
  });

  it('reads a voice as Piper publishes it, and leaves no files', async () => {
    const { model, pathOf } = modelOf({
      'joe.onnx': tinyVoice({}),
      'joe.onnx.json': Buffer.from(JSON.stringify(piperConfig)),
      'espeak-ng-data/phontab': tokens,
    });
    const voice = publishedVoice(model, typedFiles(model));
    const made = await inSherpaForm(model, voice, async (files) => {
      const [main] = typedFiles(files);
      expect(Object.fromEntries(main?.metadata ?? [])).toEqual({
        model_type: 'vits',
        comment: 'piper',
        language: 'German',
        voice: 'de',
        has_espeak: '1',
        n_speakers: '2',
        sample_rate: '22050',
      });
      expect(readFileSync(tokensOf(files) ?? '', 'utf8')).toBe('_ 0\n  3\na 14\n');
      const { vits } = (voiceConfig(files, 1) as { model: { vits: { model: string } } }).model;
      expect(vits).toMatchObject({ model: main?.path, dataDir: folder.path });
      return vits.model;
    });
    expect([made.endsWith('/joe.onnx'), existsSync(made)]).toEqual([true, false]);
    expect(readFileSync(pathOf('joe.onnx') ?? '')).toEqual(tinyVoice({}));
  });

  it('knows for Kokoro which voice of espeak-ng reads a language', async () => {
    const { model } = modelOf({
      'kokoro-v1.0.int8.onnx': tinyVoice({}),
      'voices.bin': new Uint8Array(510 * 256 * 4),
      'espeak-ng-data/lang/gmw/en-GB-x-rp': Buffer.from(
        'name R\nlanguage en-gb-x-rp\nlanguage en-gb 4\nlanguage en 5\n',
      ),
      'espeak-ng-data/lang/gmw/en': Buffer.from(
        'name English (Great Britain)\nlanguage en-gb  2\nlanguage en 2\n',
      ),
      'espeak-ng-data/lang/gmw/en-US': Buffer.from(
        'name English (America)\nlanguage en-us 2\nlanguage en 3\n',
      ),
      'espeak-ng-data/lang/roa/fr': Buffer.from('name French (France)\nlanguage fr-fr\nlanguage fr\n'),
    });
    expect(Object.fromEntries(publishedVoice(model, typedFiles(model))?.readers ?? [])).toEqual({
      'en-gb': 'en',
      en: 'en',
      'en-us': 'en-US',
      fr: 'fr',
      'fr-fr': 'fr',
      'en-gb-x-rp': 'en-GB-x-rp',
    });
  });

  it('reads Kokoro as it is published, with as many speakers as it has styles', async () => {
    const { model, pathOf } = modelOf({
      'kokoro-v1.0.int8.onnx': tinyVoice({}),
      'voices.bin': new Uint8Array(2 * 510 * 256 * 4),
      'tokens.txt': tokens,
      'espeak-ng-data/phontab': tokens,
    });
    await inSherpaForm(model, publishedVoice(model, typedFiles(model)), async (files) => {
      expect(Object.fromEntries(typedFiles(files)[0]?.metadata ?? [])).toMatchObject({
        model_type: 'kokoro',
        n_speakers: '2',
        speaker_names: 'speaker0,speaker1',
      });
      const { kokoro } = (voiceConfig(files, 1) as { model: { kokoro: object } }).model;
      const same = { voices: pathOf('voices.bin'), tokens: pathOf('tokens.txt'), dataDir: folder.path };
      expect(kokoro).toMatchObject(same);
    });
    const without = modelOf({ 'kokoro-v1.0.int8.onnx': tinyVoice({}), 'tokens.txt': tokens });
    expect(publishedVoice(without.model, typedFiles(without.model))).toBeUndefined();
  });

  it('names what a voice of Piper lacks', () => {
    const of = (contents: Readonly<Record<string, Uint8Array>>) => {
      const { model } = modelOf({ 'joe.onnx': tinyVoice({}), ...contents });
      return publishedVoice(model, typedFiles(model));
    };
    const config = Buffer.from(JSON.stringify(piperConfig));
    expect(() => of({ 'joe.onnx.json': config })).toThrow(
      'needs the folder espeak-ng-data, which is under GPL-3.0',
    );
    const other = { 'joe.onnx.json': Buffer.from('{"audio": {}}'), phontab: tokens };
    expect(() => of(other)).toThrow('joe.onnx.json is no configuration of a Piper voice with espeak.');
    expect(of({ 'other.onnx.json': config, phontab: tokens })).toBeUndefined();
  });

  it('names the files of a model that is no voice', () => {
    const { model } = modelOf({ 'model.onnx': tinyRecogniser() });
    expect(() => voiceConfig(model, 1)).toThrow('model.onnx (EncDecCTCModelBPE)');
    const none = modelOf({ 'model.onnx': tinyVoice({}) });
    expect(() => voiceConfig(none.model, 1)).toThrow('model.onnx (no model_type in its metadata)');
  });
});

describe('the configuration of a recogniser', () => {
  it.each([
    ['EncDecHybridRNNTCTCBPEModel', 'nemoCtc'],
    ['zipformer2_ctc', 'zipformerCtc'],
    ['sense_voice_ctc', 'senseVoice'],
    ['wenet_ctc', 'wenetCtc'],
    ['paraformer', 'paraformer'],
  ])('finds a model of one file, %s', (type, option) => {
    const { model, pathOf } = modelOf({ 'model.int8.onnx': voiceOf(type), 'tokens.txt': tokens });
    expect(recogniserConfig(model, 2)).toEqual({
      modelConfig: {
        [option]: { model: pathOf('model.int8.onnx') },
        tokens: pathOf('tokens.txt'),
        numThreads: 2,
      },
    });
  });

  it('finds the parts of Whisper models and transducers', () => {
    const parts = { 'tiny-encoder.int8.onnx': voiceOf('whisper-tiny'), 'tiny-decoder.onnx': voiceOf('') };
    const whisper = modelOf({ ...parts, 'tiny-tokens.txt': tokens });
    expect(recogniserConfig(whisper.model, 1)).toMatchObject({
      modelConfig: {
        whisper: {
          encoder: whisper.pathOf('tiny-encoder.int8.onnx'),
          decoder: whisper.pathOf('tiny-decoder.onnx'),
        },
        tokens: whisper.pathOf('tiny-tokens.txt'),
      },
    });
    const transducer = modelOf({ ...parts, 'joiner-epoch-99.onnx': voiceOf('') });
    expect(recogniserConfig(transducer.model, 1)).toMatchObject({
      modelConfig: { transducer: { joiner: transducer.pathOf('joiner-epoch-99.onnx') } },
    });
  });

  it.each([
    ['a truncated file', tinyRecogniser().subarray(0, 3_000)],
    ['another file', Buffer.from('version https://git-lfs.github.com/spec/v1\n')],
  ])('names %s', (_, bytes) => {
    const { model } = modelOf({ 'model.onnx': bytes });
    expect(() => recogniserConfig(model, 1)).toThrow('model.onnx cannot be used: it is no whole ONNX file.');
  });
});

describe('the configuration of a recogniser of streams', () => {
  const streaming = (metadata: Record<string, string | number>) => tinyVoice(metadata);
  const parts = { 'decoder.onnx': voiceOf(''), 'joiner.onnx': voiceOf(''), 'tokens.txt': tokens };

  it('finds a Zipformer transducer by the chunks of its encoder', () => {
    const encoder = streaming({ model_type: 'zipformer2', decode_chunk_len: 32, T: 45 });
    const { model, pathOf } = modelOf({ 'encoder.int8.onnx': encoder, ...parts });
    expect(streamingConfig(model, 2)).toEqual({
      config: {
        featConfig: { sampleRate: 16_000, featureDim: 80 },
        modelConfig: {
          transducer: {
            encoder: pathOf('encoder.int8.onnx'),
            decoder: pathOf('decoder.onnx'),
            joiner: pathOf('joiner.onnx'),
          },
          tokens: pathOf('tokens.txt'),
          numThreads: 2,
        },
      },
      tailMs: 650,
    });
  });

  it.each([
    ['zipformer2Ctc', { model_type: 'zipformer2', decode_chunk_len: 32, T: 45 }],
    ['nemoCtc', { model_type: 'EncDecCTCModelBPE', chunk_shift: 32, window_size: 41 }],
  ])('finds a model of one file, %s', (option, metadata) => {
    const { model, pathOf } = modelOf({ 'model.onnx': streaming(metadata), 'tokens.txt': tokens });
    expect(streamingConfig(model, 1)).toMatchObject({
      config: { modelConfig: { [option]: { model: pathOf('model.onnx') } } },
    });
  });

  it('finds a Paraformer in two parts', () => {
    const { model, pathOf } = modelOf({
      'encoder.onnx': voiceOf('paraformer'),
      'decoder.onnx': voiceOf(''),
      'tokens.txt': tokens,
    });
    expect(streamingConfig(model, 1)).toMatchObject({
      config: {
        modelConfig: { paraformer: { encoder: pathOf('encoder.onnx'), decoder: pathOf('decoder.onnx') } },
      },
      tailMs: 810,
    });
  });

  it('finds none in models of whole utterances, and in a file that is none', () => {
    const { model } = modelOf({ 'encoder.onnx': voiceOf('zipformer2'), ...parts });
    expect(streamingConfig(model, 1)).toBeUndefined();
    expect(isStreaming(modelOf({ 'model.onnx': voiceOf('paraformer') }).model)).toBe(false);
    expect(isStreaming(modelOf({ 'model.onnx': tokens }).model)).toBe(false);
  });
});
