import { writeFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { recogniserConfig, voiceConfig } from '../../../src/engines/sherpa/model-config.ts';
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

describe('the configuration of a voice', () => {
  it('has the files of a Piper voice', async () => {
    const { model, pathOf } = modelOf({
      'voice.onnx': voiceOf('vits'),
      'tokens.txt': tokens,
      'data/phontab': tokens,
    });
    const vits = { model: pathOf('voice.onnx'), tokens: pathOf('tokens.txt'), dataDir: folder.path };
    expect(await voiceConfig(model, 3)).toEqual({ model: { vits, numThreads: 3 }, maxNumSentences: 1 });
  });

  it('has the styles and the lexicons of Kokoro, and the vocoder of Matcha', async () => {
    const kokoro = modelOf({
      'model.onnx': voiceOf('kokoro'),
      'voices.bin': tokens,
      'lexicon-us-en.txt': tokens,
      'lexicon-zh.txt': tokens,
    });
    const lexicon = [kokoro.pathOf('lexicon-us-en.txt'), kokoro.pathOf('lexicon-zh.txt')].join(',');
    expect(await voiceConfig(kokoro.model, 1)).toMatchObject({
      model: { kokoro: { voices: kokoro.pathOf('voices.bin'), lexicon } },
    });
    const matcha = modelOf({ 'steps-3.onnx': voiceOf('matcha-tts'), 'vocos-22khz.onnx': voiceOf('') });
    expect(await voiceConfig(matcha.model, 1)).toMatchObject({
      model: {
        matcha: { acousticModel: matcha.pathOf('steps-3.onnx'), vocoder: matcha.pathOf('vocos-22khz.onnx') },
      },
    });
  });

  it('names the files of a model that is no voice', async () => {
    const { model } = modelOf({ 'model.onnx': tinyRecogniser() });
    await expect(voiceConfig(model, 1)).rejects.toThrow('model.onnx (EncDecCTCModelBPE)');
    const none = modelOf({ 'model.onnx': tinyVoice({}) });
    await expect(voiceConfig(none.model, 1)).rejects.toThrow('model.onnx (no model_type in its metadata)');
  });
});

describe('the configuration of a recogniser', () => {
  it.each([
    ['EncDecHybridRNNTCTCBPEModel', 'nemoCtc'],
    ['zipformer2_ctc', 'zipformerCtc'],
    ['sense_voice_ctc', 'senseVoice'],
    ['wenet_ctc', 'wenetCtc'],
    ['paraformer', 'paraformer'],
  ])('finds a model of one file, %s', async (type, option) => {
    const { model, pathOf } = modelOf({ 'model.int8.onnx': voiceOf(type), 'tokens.txt': tokens });
    expect(await recogniserConfig(model, 2)).toEqual({
      modelConfig: {
        [option]: { model: pathOf('model.int8.onnx') },
        tokens: pathOf('tokens.txt'),
        numThreads: 2,
      },
    });
  });

  it('finds the parts of Whisper models and transducers', async () => {
    const parts = { 'tiny-encoder.int8.onnx': voiceOf('whisper-tiny'), 'tiny-decoder.onnx': voiceOf('') };
    const whisper = modelOf({ ...parts, 'tiny-tokens.txt': tokens });
    expect(await recogniserConfig(whisper.model, 1)).toMatchObject({
      modelConfig: {
        whisper: {
          encoder: whisper.pathOf('tiny-encoder.int8.onnx'),
          decoder: whisper.pathOf('tiny-decoder.onnx'),
        },
        tokens: whisper.pathOf('tiny-tokens.txt'),
      },
    });
    const transducer = modelOf({ ...parts, 'joiner-epoch-99.onnx': voiceOf('') });
    expect(await recogniserConfig(transducer.model, 1)).toMatchObject({
      modelConfig: { transducer: { joiner: transducer.pathOf('joiner-epoch-99.onnx') } },
    });
  });

  it.each([
    ['a truncated file', tinyRecogniser().subarray(0, 3_000)],
    ['another file', Buffer.from('version https://git-lfs.github.com/spec/v1\n')],
  ])('names %s', async (_, bytes) => {
    const { model } = modelOf({ 'model.onnx': bytes });
    await expect(recogniserConfig(model, 1)).rejects.toThrow(
      'model.onnx cannot be used: it is no whole ONNX file.',
    );
  });
});
