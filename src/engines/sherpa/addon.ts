/** The part of `sherpa-onnx-node` that Parley uses. The operator installs it; Parley contains nothing of it. */
import { createRequire } from 'node:module';
import { join } from 'node:path';

export interface GeneratedAudio {
  /** -1 to 1. */
  readonly samples: Float32Array;
  readonly sampleRate: number;
}

export interface Voice {
  readonly sampleRate: number;
  generateAsync(request: {
    readonly text: string;
    /** The number of the speaker, from 0. */
    readonly sid: number;
    readonly speed: number;
    /** `extra.lang`: the voice of espeak-ng, which only Kokoro takes. */
    readonly generationConfig?: object;
  }): Promise<GeneratedAudio>;
}

export interface RecognitionResult {
  readonly text: string;
  /** A code such as `en`, perhaps in `<|` and `|>`; empty if the model names none. */
  readonly lang: string;
  /** Words or parts of them. A token that begins a word begins with a space. */
  readonly tokens: readonly string[];
  /** The start of each token in seconds. Empty if the model gives no times. */
  readonly timestamps: readonly number[];
  /** The length of each token in seconds. Empty for most models. */
  readonly durations: readonly number[];
  /** Natural-log probabilities of the tokens. Empty for most models. */
  readonly ys_log_probs: readonly number[];
}

interface Stream {
  /** Audio of another rate is resampled. */
  acceptWaveform(audio: GeneratedAudio): void;
}

export interface Recogniser {
  createStream(): Stream;
  decodeAsync(stream: Stream): Promise<RecognitionResult>;
}

/** A recogniser of streams. Its calls block. */
export interface StreamingRecogniser {
  createStream(): RecognisedStream;
  /** Whether there is enough audio for a step. */
  isReady(stream: RecognisedStream): boolean;
  /** Takes a step: some tenths of a second of audio. */
  decode(stream: RecognisedStream): void;
  /** The result of all steps so far. */
  getResult(
    stream: RecognisedStream,
  ): Pick<RecognitionResult, 'text' | 'tokens' | 'timestamps'> & { readonly ys_probs: readonly number[] };
}

export interface RecognisedStream extends Stream {
  inputFinished(): void;
}

export interface Sherpa {
  readonly OfflineTts: { createAsync(config: object): Promise<Voice> };
  readonly OfflineRecognizer: { createAsync(config: object): Promise<Recogniser> };
  readonly OnlineRecognizer: new (config: object) => StreamingRecogniser;
}

/** @param folder where `node_modules` has the package */
export function loadSherpa(folder: string): Sherpa {
  return createRequire(join(folder, 'parley.js'))('sherpa-onnx-node');
}
