/** Samples without a file around them: in WAV files, of live clients and upstreams, and at the rates of clients. */
import {
  type AudioDecoder,
  type AudioEncoding,
  liveSampleRate,
  type OpenDecoder,
  type OpenEncoder,
  type RawAudio,
} from '../core/entities/live.ts';
import { joinBytes } from './encoders/encoder.ts';
import { littleEndianBytes, pcmSampleRate } from './encoders/pcm.ts';
import { Resampler } from './encoders/resample.ts';
import { readWavHead, wavHeader } from './encoders/wav.ts';

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
    const resampler = toRate === pcmSampleRate ? undefined : new Resampler(pcmSampleRate, toRate);
    for await (const bytes of pcm) {
      const samples = read(bytes);
      const resampled = resampler ? resampler.process(samples) : samples;
      if (resampled.length > 0) yield littleEndianBytes(resampled);
    }
    const rest = resampler?.flush();
    if (rest && rest.length > 0) yield littleEndianBytes(rest);
  },
};

export const openEncoder: OpenEncoder = (encoding) => {
  const read = pcmReader();
  if (encoding === 'pcm16') return (bytes) => littleEndianBytes(read(bytes));
  const resampler = new Resampler(pcmSampleRate, g711SampleRate);
  const toByte = encoding === 'mulaw' ? mulawByte : alawByte;
  return (bytes) => Uint8Array.from(resampler.process(read(bytes)), toByte);
};

/** Converts the audio of a live client to samples of 16 kHz. */
export const openDecoder: OpenDecoder = (encoding, sampleRate) => {
  const read = readers[encoding]();
  if (sampleRate === liveSampleRate) return read;
  const resampler = new Resampler(sampleRate, liveSampleRate);
  return (bytes) => resampler.process(read(bytes));
};

const readers: Readonly<Record<AudioEncoding, () => AudioDecoder>> = {
  pcm16: pcmReader,
  mulaw: () => (bytes) => Int16Array.from(bytes, (byte) => mulawSamples[byte] ?? 0),
  alaw: () => (bytes) => Int16Array.from(bytes, (byte) => alawSamples[byte] ?? 0),
};

/** Little-endian. */
function pcmReader(): AudioDecoder {
  let half: number | undefined;
  return (bytes) => {
    const first = half === undefined ? 0 : 1;
    const all = new Uint8Array(first + bytes.length);
    if (half !== undefined) all[0] = half;
    all.set(bytes, first);
    half = all.length % 2 === 1 ? all.at(-1) : undefined;
    return new Int16Array(all.buffer, 0, all.length >> 1);
  };
}

/** PCM of 16 bits at 24 kHz, or G.711 at 8 kHz: mu-law or A-law. */
export type UpstreamFormat = 'pcm' | 'pcmu' | 'pcma';

/** Converts live speech to the audio that an upstream takes. */
export interface UpstreamEncoder {
  encode(samples: Int16Array): Uint8Array;
  /** The rest. Call once, last. */
  finish(): Uint8Array;
}

const writers: Readonly<Record<UpstreamFormat, (samples: Int16Array) => Uint8Array>> = {
  pcm: littleEndianBytes,
  pcmu: (samples) => Uint8Array.from(samples, mulawByte),
  pcma: (samples) => Uint8Array.from(samples, alawByte),
};

/** Opens an encoder for a turn. */
export function openUpstreamEncoder(format: UpstreamFormat): UpstreamEncoder {
  const write = writers[format];
  const resampler = new Resampler(liveSampleRate, format === 'pcm' ? pcmSampleRate : g711SampleRate);
  return { encode: (samples) => write(resampler.process(samples)), finish: () => write(resampler.flush()) };
}

export const g711SampleRate = 8_000;

/** The sample of each byte. */
export const mulawSamples = Int16Array.from({ length: 256 }, (_, byte) => {
  const code = ~byte & 0xff;
  const magnitude = ((((code & 0x0f) << 3) + 0x84) << ((code & 0x70) >> 4)) - 0x84;
  return code & 0x80 ? -magnitude : magnitude;
});
export const alawSamples = Int16Array.from({ length: 256 }, (_, byte) => {
  const code = byte ^ 0x55;
  const segment = (code & 0x70) >> 4;
  const step = ((code & 0x0f) << 4) + (segment > 0 ? 0x108 : 8);
  const magnitude = segment > 1 ? step << (segment - 1) : step;
  return code & 0x80 ? magnitude : -magnitude;
});

/** The exponent of a magnitude in G.711, and the four bits after its first one. */
function segmentOf(magnitude: number): readonly [segment: number, step: number] {
  const segment = Math.max(0, 24 - Math.clz32(magnitude));
  return [segment, (magnitude >> (segment + 3)) & 0x0f];
}

export function mulawByte(sample: number): number {
  const [segment, step] = segmentOf(Math.min(Math.abs(sample), 32_635) + 0x84);
  return ~((sample < 0 ? 0x80 : 0) | (segment << 4) | step) & 0xff;
}

export function alawByte(sample: number): number {
  const magnitude = sample < 0 ? ~sample : sample;
  const [segment, step] = segmentOf(magnitude);
  const code = (sample < 0 ? 0 : 0x80) | (segment << 4) | (segment === 0 ? magnitude >> 4 : step);
  return code ^ 0x55;
}
