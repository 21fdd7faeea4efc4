/** Finds the configuration of sherpa-onnx for the files of a model, by their names and their metadata. */
import { basename, dirname } from 'node:path';
import { onnxMetadata } from './onnx-metadata.ts';

export interface ModelFiles {
  readonly id: string;
  readonly files: readonly { readonly name: string; readonly path: string }[];
}

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
export async function voiceConfig(model: ModelFiles, threads: number): Promise<object> {
  const typed = await typedFiles(model);
  for (const [pattern, configOf] of voiceKinds) {
    const main = typed.find(({ type }) => pattern.test(type));
    if (main === undefined) continue;
    const config = configOf({ ...textFiles(model), main: main.path });
    return { model: { ...config, numThreads: threads }, maxNumSentences: 1 };
  }
  throw unknownKind(model, typed, 'voice');
}

/** @throws an error that names the file which cannot be used */
export async function recogniserConfig(model: ModelFiles, threads: number): Promise<object> {
  const typed = await typedFiles(model);
  const config = partsConfig(model, typed) ?? wholeConfig(typed);
  if (config === undefined) throw unknownKind(model, typed, 'recogniser');
  const tokens = find(model, /tokens\.txt$/);
  return { modelConfig: { ...config, tokens, numThreads: threads } };
}

interface TypedFile {
  readonly name: string;
  readonly path: string;
  /** Empty if the metadata have none. */
  readonly type: string;
}

function typedFiles({ files }: ModelFiles): Promise<TypedFile[]> {
  const models = files.filter(({ name }) => name.endsWith('.onnx'));
  return Promise.all(
    models.map(async ({ name, path }) => {
      try {
        return { name, path, type: (await onnxMetadata(path)).get('model_type') ?? '' };
      } catch (error) {
        throw new Error(`${name} cannot be used: ${error instanceof Error ? error.message : error}.`);
      }
    }),
  );
}

/** Transducers have three files, Whisper models two. */
function partsConfig(model: ModelFiles, typed: readonly TypedFile[]): object | undefined {
  const part = (name: string) => find(model, new RegExp(`${name}[^/]*\\.onnx$`));
  const [encoder, decoder, joiner] = ['encoder', 'decoder', 'joiner'].map(part);
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
  const phonemes = find(model, /(^|\/)phontab$/);
  const lexicons = model.files.filter(({ name }) => /^lexicon[^/]*\.txt$/.test(basename(name)));
  return {
    vocoder: find(model, /(vocos|hifigan|vocoder)[^/]*\.onnx$/),
    styles: find(model, /voices[^/]*\.bin$/),
    texts: {
      tokens: find(model, /tokens\.txt$/),
      ...(phonemes !== undefined && { dataDir: dirname(phonemes) }),
      ...(lexicons.length > 0 && { lexicon: lexicons.map(({ path }) => path).join(',') }),
    },
  };
}

function find({ files }: ModelFiles, pattern: RegExp): string | undefined {
  return files.find(({ name }) => pattern.test(name))?.path;
}

function unknownKind({ id }: ModelFiles, typed: readonly TypedFile[], wanted: string): Error {
  const kinds = typed.map(({ name, type }) => `${name} (${type || 'no model_type in its metadata'})`);
  const found = kinds.length === 0 ? 'It has no ONNX files' : `It has ${kinds.join(', ')}`;
  return new Error(`The model ${id} is no ${wanted} that Parley knows. ${found}.`);
}
