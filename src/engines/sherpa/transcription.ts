import type { TranscriptSegment } from '../../core/entities/engine.ts';
import { decodedSampleRate } from '../../media/decoding/decoder.ts';
import { detectContainer } from '../../media/formats/file-format.ts';
import { hearingModule } from '../../media/wasm-instance.ts';
import { OneAtATime } from '../model-server.ts';
import { createFilePool } from '../recordings/file-pool.ts';
import { type RecognisedWord, toSegments } from '../recordings/transcript.ts';
import type { Utterance } from '../recordings/utterances.ts';
import type { Recogniser, RecognitionResult } from './addon.ts';
import type { OpenHearing } from './hearing.ts';

export interface LocalTranscript {
  /** A tag such as `en`; undefined if the model names none. */
  readonly language: string | undefined;
  readonly durationMs: number;
  readonly segments: readonly TranscriptSegment[];
}

/** @throws `invalid_file`, `unsupported_file_format`, the signal's reason */
export type Transcribe = (file: TranscribedFile, signal: AbortSignal) => Promise<LocalTranscript>;

interface TranscribedFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly name: string;
}

/** @param samples of an utterance, -1 to 1, at `decodedSampleRate` */
export type Recognise = (samples: Float32Array, signal: AbortSignal) => Promise<RecognitionResult>;

export function recogniseWhole(recogniser: Recogniser): Recognise {
  const turns = new OneAtATime();
  return (samples, signal) =>
    turns.run(async () => {
      signal.throwIfAborted();
      const stream = recogniser.createStream();
      stream.acceptWaveform({ samples, sampleRate: decodedSampleRate });
      return recogniser.decodeAsync(stream);
    });
}

export function recogniseStream(open: OpenHearing): Recognise {
  return async (samples, signal) => {
    const hearing = open();
    await hearing.add(samples, decodedSampleRate, signal);
    return hearing.finish(decodedSampleRate, signal);
  };
}

/** Audio is cut at pauses into utterances of at most 20 s: longer ones would exceed what Whisper models hear. */
export function createTranscribe(recognise: Recognise, filesMax: number): Transcribe {
  const files = createFilePool(filesMax);
  return async ({ bytes, name }, signal) => {
    const container = detectContainer(bytes, name);
    const file = { module: await hearingModule('decoder'), bytes, container };
    const segments: TranscriptSegment[] = [];
    let language: string | undefined;
    let durationMs = 0;
    for await (const { sampleCount, utterance } of files.cuts(file, signal)) {
      durationMs = Math.round((sampleCount * 1000) / decodedSampleRate);
      if (utterance === undefined) continue;
      const samples = Float32Array.from(utterance.samples, (sample) => sample / 32_768);
      const result = await recognise(samples, signal);
      language ??= languageOf(result);
      segments.push(...segmentsOf(utterance, result));
    }
    return { language, durationMs, segments };
  };
}

function segmentsOf(utterance: Utterance, result: RecognitionResult): TranscriptSegment[] {
  const text = result.text.trim();
  if (text === '') return [];
  const words = wordsOf(result);
  if (words.length === 0) return [{ ...spanOf(utterance), text, words, avgLogprob: undefined }];
  const segments = toSegments(utterance, words);
  const hasProbabilities = result.ys_log_probs.length > 0;
  return hasProbabilities ? segments : segments.map((segment) => ({ ...segment, avgLogprob: undefined }));
}

function spanOf({ stretches }: Utterance) {
  const [first, last] = [stretches[0], stretches.at(-1)];
  const toMs = (samples: number) => (samples * 1000) / decodedSampleRate;
  return { startMs: toMs(first?.start ?? 0), endMs: toMs((last?.start ?? 0) + (last?.length ?? 0)) };
}

/** Some models write `<|en|>`. */
function languageOf({ lang }: RecognitionResult): string | undefined {
  return /[a-z]{2,3}/.exec(lang)?.[0];
}

/** The length of a word's last token, if the recogniser gives none and nothing follows. */
const tokenMsMax = 200;

/** Empty without times. Without probabilities, each is 1. */
export function wordsOf(result: RecognitionResult): RecognisedWord[] {
  const { tokens, timestamps } = result;
  if (timestamps.length < tokens.length) return [];
  const words: { readonly word: string; readonly from: number; readonly to: number }[] = [];
  for (const [at, token] of tokens.entries()) {
    const text = token.replace(/^[\s▁]+/, '');
    const last = words.at(-1);
    const begins = last === undefined || last.word === '' || text !== token;
    if (begins) words.push({ word: text, from: at, to: at });
    else words.splice(-1, 1, { ...last, word: last.word + text, to: at });
  }
  const spoken = words.filter(({ word }) => word !== '');
  return spoken.map(({ word, from, to }) => ({
    word: word.trimEnd(),
    startMs: msOf(timestamps[from]),
    endMs: endOf(result, to),
    probability: probabilityOf(result, from, to),
  }));
}

function endOf({ timestamps, durations }: RecognitionResult, at: number): number {
  const startMs = msOf(timestamps[at]);
  const duration = durations[at];
  if (duration !== undefined && duration > 0) return startMs + msOf(duration);
  return Math.min(msOf(timestamps[at + 1] ?? Infinity), startMs + tokenMsMax);
}

/** A word is as probable as its tokens together. */
function probabilityOf({ ys_log_probs: logs }: RecognitionResult, from: number, to: number): number {
  const sum = logs.slice(from, to + 1).reduce((total, log) => total + log, 0);
  return Math.min(1, Math.exp(sum));
}

function msOf(seconds = 0): number {
  return Math.round(seconds * 1000);
}
