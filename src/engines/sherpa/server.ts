/** A program that serves one model of sherpa-onnx by the OpenAI API, for the engine that supervises it. */
import { basename, dirname } from 'node:path';
import { audioFormats, contentType, type TranscriptSegment } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { isObject } from '../../core/values/json.ts';
import { createModelServer, type Handle, type ServeOptions } from '../model-server.ts';
import { loadSherpa, type Sherpa } from './addon.ts';
import { Hearing, type OpenHearing } from './hearing.ts';
import { findFile, type ModelFiles, partsOf, type TypedFile, tokensOf, typedFiles } from './model-files.ts';
import { inSherpaForm, publishedVoice } from './published-voice.ts';
import { createSpeak, type Speak } from './speech.ts';
import { type StreamingConfig, streamingConfig } from './streaming-config.ts';
import {
  createTranscribe,
  type LocalTranscript,
  recogniseStream,
  recogniseWhole,
  type Transcribe,
} from './transcription.ts';

export interface ServedModel extends ModelFiles {
  readonly type: 'speech' | 'transcription';
  /** The voices by their names: the number in the model, and the language. The first is the default. */
  readonly speakers: ReadonlyMap<string, Speaker>;
  /** The language of a model that knows only one. */
  readonly language: string | undefined;
}

interface Speaker {
  readonly speaker: number;
  readonly language: string;
}

/** Loads the model and listens. @throws an error that names the file which cannot be used */
export async function serveModel(model: ServedModel, options: ServeOptions): Promise<void> {
  const { path, handle, hearing } = await openModel(loadSherpa(options.runtime), model, options);
  const server = createModelServer(path, handle);
  if (hearing) (await import('./live.ts')).serveLive(server, hearing);
  server.listen(options.socketPath);
}

interface OpenModel {
  readonly path: string;
  readonly handle: Handle;
  /** For models that transcribe speech while it is spoken. */
  readonly hearing?: OpenHearing;
}

async function openModel(
  sherpa: Sherpa,
  model: ServedModel,
  { threads, callsMax }: ServeOptions,
): Promise<OpenModel> {
  if (model.type === 'speech') {
    const load = async (files: ModelFiles) => sherpa.OfflineTts.createAsync(voiceConfig(files, threads));
    const published = publishedVoice(model, typedFiles(model));
    const voice = await named(model, () => inSherpaForm(model, published, load));
    const readers = published?.readers ?? new Map<string, string>();
    const handle = speechHandle(createSpeak(voice), model.speakers, readers);
    return { path: '/v1/audio/speech', handle };
  }
  const streaming = streamingConfig(model, threads);
  const hearing = streaming && (await openHearing(sherpa, model, streaming));
  const recognise = hearing
    ? recogniseStream(hearing)
    : recogniseWhole(
        await named(model, () => sherpa.OfflineRecognizer.createAsync(recogniserConfig(model, threads))),
      );
  const handle = transcriptionHandle(createTranscribe(recognise, callsMax), model.language);
  return { path: '/v1/audio/transcriptions', handle, ...(hearing && { hearing }) };
}

async function openHearing(
  { OnlineRecognizer }: Sherpa,
  model: ServedModel,
  { config, tailMs }: StreamingConfig,
): Promise<OpenHearing> {
  const recogniser = await named(model, async () => new OnlineRecognizer(config));
  return () => new Hearing(recogniser, tailMs);
}

/**
 * sherpa-onnx ends the process if it cannot use a file, with a line that does not name the file. So the names are
 * written first, in the same line.
 */
async function named<Result>({ files }: ServedModel, load: () => Promise<Result>): Promise<Result> {
  const names = files.map(({ name }) => name).filter((name) => !name.includes('/'));
  process.stderr.write(`Loading ${names.join(', ')}: `);
  const loaded = await load();
  process.stderr.write('done\n');
  return loaded;
}

/** @param readers the voices of espeak-ng by their languages */
function speechHandle(
  speak: Speak,
  speakers: ServedModel['speakers'],
  readers: ReadonlyMap<string, string>,
): Handle {
  return async (request, signal) => {
    const body: unknown = await request.json();
    if (!isObject(body) || typeof body['input'] !== 'string') throw new ParleyError('missing_input');
    const voice = speakers.get(String(body['voice']));
    if (voice === undefined) throw new ParleyError('unknown_voice');
    const format = audioFormats.find((name) => name === body['response_format']);
    if (format === undefined) throw new ParleyError('unsupported_response_format');
    const { speaker, language } = voice;
    const reader = readers.get(language.toLowerCase());
    const audio = speak({ input: body['input'], speaker, reader, format }, signal);
    return { contentType: contentType(format), body: audio };
  };
}

/** @param language of a model that knows only one */
function transcriptionHandle(transcribe: Transcribe, language: string | undefined): Handle {
  return async (request, signal) => {
    const file = (await request.formData()).get('file');
    if (!(file instanceof File)) throw new ParleyError('missing_file');
    const bytes = new Uint8Array(await file.arrayBuffer());
    const transcript = await transcribe({ bytes, name: file.name }, signal);
    return { contentType: 'application/json', body: [JSON.stringify(verbose(transcript, language))] };
  };
}

/** The form `verbose_json`, with the words of each segment in it. */
function verbose({ segments, durationMs, ...found }: LocalTranscript, language: string | undefined) {
  return {
    task: 'transcribe',
    ...((found.language ?? language) && { language: found.language ?? language }),
    duration: durationMs / 1000,
    text: segments.map(({ text }) => text).join(' '),
    segments: segments.map(verboseSegment),
  };
}

function verboseSegment({ startMs, endMs, text, words, avgLogprob }: TranscriptSegment) {
  const timed = words.map((word) => ({
    word: word.word,
    start: word.startMs / 1000,
    end: word.endMs / 1000,
  }));
  return { start: startMs / 1000, end: endMs / 1000, text, avg_logprob: avgLogprob, words: timed };
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
  const config = moonshineConfig(model) ?? partsConfig(model, typed) ?? wholeConfig(typed);
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

/** Moonshine's files have no metadata, so their names decide. */
function moonshineConfig(model: ModelFiles): object | undefined {
  const encoder = findFile(model, /(^|\/)encoder_model\.ort$/);
  const mergedDecoder = findFile(model, /(^|\/)decoder_model_merged\.ort$/);
  const isWhole = encoder !== undefined && mergedDecoder !== undefined;
  return isWhole ? { moonshine: { encoder, mergedDecoder } } : undefined;
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
