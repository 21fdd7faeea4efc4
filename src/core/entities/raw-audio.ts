/** Samples without a file around them: 16-bit PCM, or G.711. */
import type { AudioEncoding } from './live.ts';

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
