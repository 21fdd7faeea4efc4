/** Finds the configuration of sherpa-onnx for the files of a model, by their names and their metadata. */
import { basename, dirname } from 'node:path';
import { findFile, type ModelFiles, partsOf, type TypedFile, tokensOf, typedFiles } from './model-files.ts';

/** The kinds of voices, by the `model_type` of their metadata. */
const voiceKinds: readonly (readonly [RegExp, (files: Files) => object])[] = [
  [/vits/, (files) => ({ vits: { model: files.main, ...files.texts } })],
  [/^matcha/, (files) => ({ matcha: { acousticModel: files.main, vocoder: files.vocoder, ...files.texts } })],
  [/^kokoro/, (files) => ({ kokoro: { model: files.main, voices: files.styles, ...files.texts } })],
  [/^kitten/, (files) => ({ kitten: { model: files.main, voices: files.styles, ...files.texts } })],
];

/** The kinds of recognisers in one file. */
const recogniserKinds: readonly (readonly [RegExp, string])[] = [
  [/^EncDec.*CTC/, 'nemoCtc'],
  [/^zipformer2?_ctc/, 'zipformerCtc'],
  [/^wenet_ctc/, 'wenetCtc'],
  [/^sense_voice/, 'senseVoice'],
  [/^paraformer/, 'paraformer'],
];

interface Files {
  /** The file whose metadata decide. */
  readonly main: string;
  readonly vocoder: string | undefined;
  /** The styles of several speakers. */
  readonly styles: string | undefined;
  /** Options for the files with which the model reads a text. */
  readonly texts: object;
}

/** @throws an error that names the file which cannot be used */
export function voiceConfig(model: ModelFiles, threads: number): object {
  const typed = typedFiles(model);
  for (const [pattern, configOf] of voiceKinds) {
    const main = typed.find(({ type }) => pattern.test(type));
    if (main === undefined) continue;
    const config = configOf({ ...textFiles(model), main: main.path });
    return { model: { ...config, numThreads: threads }, maxNumSentences: 1 };
  }
  throw unknownKind(model, typed, 'voice');
}

/** @throws an error that names the file which cannot be used */
export function recogniserConfig(model: ModelFiles, threads: number): object {
  const typed = typedFiles(model);
  const config = partsConfig(model, typed) ?? wholeConfig(typed);
  if (config === undefined) throw unknownKind(model, typed, 'recogniser');
  return { modelConfig: { ...config, tokens: tokensOf(model), numThreads: threads } };
}

function partsConfig(model: ModelFiles, typed: readonly TypedFile[]): object | undefined {
  const { encoder, decoder, joiner } = partsOf(model);
  if (encoder === undefined || decoder === undefined) return undefined;
  if (joiner !== undefined) return { transducer: { encoder, decoder, joiner } };
  const isWhisper = typed.some(({ path, type }) => path === encoder && type.startsWith('whisper'));
  return isWhisper ? { whisper: { encoder, decoder } } : undefined;
}

function wholeConfig(typed: readonly TypedFile[]): object | undefined {
  for (const [pattern, option] of recogniserKinds) {
    const main = typed.find(({ type }) => pattern.test(type));
    if (main !== undefined) return { [option]: { model: main.path } };
  }
  return undefined;
}

function textFiles(model: ModelFiles): Omit<Files, 'main'> {
  const phonemes = findFile(model, /(^|\/)phontab$/);
  const lexicons = model.files.filter(({ name }) => /^lexicon[^/]*\.txt$/.test(basename(name)));
  return {
    vocoder: findFile(model, /(vocos|hifigan|vocoder)[^/]*\.onnx$/),
    styles: findFile(model, /voices[^/]*\.bin$/),
    texts: {
      tokens: tokensOf(model),
      ...(phonemes !== undefined && { dataDir: dirname(phonemes) }),
      ...(lexicons.length > 0 && { lexicon: lexicons.map(({ path }) => path).join(',') }),
    },
  };
}

function unknownKind({ id }: ModelFiles, typed: readonly TypedFile[], wanted: string): Error {
  const kinds = typed.map(({ name, type }) => `${name} (${type || 'no model_type in its metadata'})`);
  const found = kinds.length === 0 ? 'It has no ONNX files' : `It has ${kinds.join(', ')}`;
  return new Error(`The model ${id} is no ${wanted} that Parley knows. ${found}.`);
}
