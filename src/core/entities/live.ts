/** Speech that is recognised while it is spoken, as sessions use it: 16 kHz, mono, 16 bits. */

import type { EngineAttempt, Signal } from '../values/signal.ts';

/** Samples of live speech in a second. */
export const liveSampleRate = 16_000;

/** Sample rates of clients, in hertz. A filter for any other would take up to a second to design, and 12 MB. */
export const clientSampleRates = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000];

/** A word of a turn. Times are milliseconds from the turn's first sample. */
export interface LiveWord {
  readonly word: string;
  readonly startMs: number;
  readonly endMs: number;
  /** 0 to 1; undefined if the engine does not know it. */
  readonly probability: number | undefined;
}

export interface LiveText {
  readonly text: string;
  /** Empty if the engine does not report times. */
  readonly words: readonly LiveWord[];
}

export interface LiveTurn {
  /** Takes the next samples, which it keeps. */
  add(samples: Int16Array<ArrayBuffer>): void;
  /** The text of the whole turn. Call `finish` or `drop` once, last. Rejects with a `ParleyError`. */
  finish(): Promise<LiveText>;
  drop(): void;
}

export interface LiveTurnOptions {
  /** A hint about the language; undefined without one. */
  readonly language: string | undefined;
  /** Called with the text so far whenever it has changed. Engines without partial results never call it. */
  readonly onPartial: (text: string) => void;
  /** Called at most once, if the turn fails before its end. */
  readonly onFailure: (error: unknown) => void;
  readonly signal: Signal;
  /** Takes the engines that hear the turn. */
  readonly attempts?: EngineAttempt[] | undefined;
}

export interface LiveSpeaker {
  /** @throws `overloaded` if too many speak */
  listen(options: LiveTurnOptions): LiveTurn;
  close(): void;
}

/** Decides whether somebody speaks, in frames of `frameMs`. */
export interface VoiceDetector {
  isSpeech(frame: Int16Array): boolean;
  close(): void;
}

/** Milliseconds in a frame of a `VoiceDetector`. */
export const frameMs = 20;

export const audioEncodings = ['pcm16', 'mulaw', 'alaw'] as const;
export type AudioEncoding = (typeof audioEncodings)[number];

/** Turns a client's bytes into samples of live speech. Keeps half a sample until its other half arrives. */
export type AudioDecoder = (bytes: Uint8Array) => Int16Array<ArrayBuffer>;

/** @param sampleRate one of `clientSampleRates` */
export type OpenDecoder = (encoding: AudioEncoding, sampleRate: number) => AudioDecoder;

/** Turns speech, as an engine gives it in the format `pcm`, into a client's bytes. Keeps half a sample until its other half arrives. */
export type AudioEncoder = (bytes: Uint8Array) => Uint8Array;

/** G.711 has 8 kHz, PCM 24 kHz. */
export type OpenEncoder = (encoding: AudioEncoding) => AudioEncoder;

export type Samples = Int16Array<ArrayBuffer>;

export function joinSamples(parts: readonly Int16Array[]): Samples {
  const joined = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export interface RawForm {
  readonly encoding: AudioEncoding;
  /** Hertz. */
  readonly sampleRate: number;
  readonly channels: number;
}

export interface RawAudio {
  isWav(bytes: Uint8Array): boolean;
  /** The form of the samples in a WAV file, and their offset. Undefined for other bytes, and for other encodings. */
  readWav(bytes: Uint8Array): (RawForm & { readonly dataAt: number }) | undefined;
  /** A WAV file with these samples. */
  toWav(samples: Uint8Array, form: RawForm): Uint8Array;
  /** Resamples speech as engines make it: PCM of 24 kHz. Each part has whole samples. @param toRate one of `clientSampleRates` */
  resample(pcm: AsyncIterable<Uint8Array>, toRate: number): AsyncGenerator<Uint8Array>;
}
