/** Samples without a file around them: in WAV files, and at the rates of clients. */
import type { AudioEncoding, OpenEncoder } from '../core/entities/live.ts';
import type { RawAudio } from '../core/entities/raw-audio.ts';
import { joinBytes } from './encoders/encoder.ts';
import { littleEndianBytes, pcmSampleRate } from './encoders/pcm.ts';
import { Resampler } from './encoders/resample.ts';
import { loadFilter, type RunFilter } from './encoders/resample-filter.ts';
import { readWavHead, wavHeader } from './encoders/wav.ts';
import { alawByte, g711SampleRate, mulawByte } from './g711.ts';
import { pcmReader } from './live-decoder.ts';

/** The encodings as headers of WAV files state them. */
const wavEncodings: Readonly<Record<AudioEncoding, { encoding: number; bitsPerSample: number }>> = {
  pcm16: { encoding: 1, bitsPerSample: 16 },
  alaw: { encoding: 6, bitsPerSample: 8 },
  mulaw: { encoding: 7, bitsPerSample: 8 },
};

export const rawAudio: RawAudio = {
  isWav: (bytes) => readWavHead(bytes) !== undefined,

  readWav(bytes) {
    const head = readWavHead(bytes);
    const encoding = (['pcm16', 'alaw', 'mulaw'] as const).find((name) => {
      const known = wavEncodings[name];
      return known.encoding === head?.encoding && known.bitsPerSample === head.bitsPerSample;
    });
    if (head === undefined || encoding === undefined) return undefined;
    const { sampleRate, channels, dataAt } = head;
    return { encoding, sampleRate, channels, dataAt };
  },

  toWav(samples, { encoding, sampleRate, channels }) {
    const format = { ...wavEncodings[encoding], channels };
    return joinBytes([wavHeader(sampleRate, samples.length, format), samples]);
  },

  async *resample(pcm, toRate) {
    const read = pcmReader();
    const resampler =
      toRate === pcmSampleRate ? undefined : new Resampler(pcmSampleRate, toRate, await loadFilter());
    for await (const bytes of pcm) {
      const samples = read(bytes);
      const resampled = resampler ? resampler.process(samples) : samples;
      if (resampled.length > 0) yield littleEndianBytes(resampled);
    }
    const rest = resampler?.flush();
    if (rest && rest.length > 0) yield littleEndianBytes(rest);
  },
};

/** @param run resamples */
export function encoderOpener(run: RunFilter): OpenEncoder {
  return (encoding) => {
    const read = pcmReader();
    if (encoding === 'pcm16') return (bytes) => littleEndianBytes(read(bytes));
    const resampler = new Resampler(pcmSampleRate, g711SampleRate, run);
    const toByte = encoding === 'mulaw' ? mulawByte : alawByte;
    return (bytes) => Uint8Array.from(resampler.process(read(bytes)), toByte);
  };
}
