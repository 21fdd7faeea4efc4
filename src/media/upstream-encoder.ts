/** Converts live speech to the audio that an upstream takes. */
import { liveSampleRate } from '../core/entities/live.ts';
import { littleEndianBytes } from './encoders/pcm.ts';
import { Resampler } from './encoders/resample.ts';
import { loadFilter } from './encoders/resample-filter.ts';
import { alawByte, mulawByte } from './g711.ts';

/** PCM of 16 bits at 24 kHz, or G.711 at 8 kHz: mu-law or A-law. */
export type UpstreamFormat = 'pcm' | 'pcmu' | 'pcma';

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

/** Returns a function that opens an encoder for a turn. */
export async function loadUpstreamEncoder(format: UpstreamFormat): Promise<() => UpstreamEncoder> {
  const rate = format === 'pcm' ? 24_000 : 8_000;
  const write = writers[format];
  const run = await loadFilter();
  return () => {
    const resampler = new Resampler(liveSampleRate, rate, run);
    return { encode: (samples) => write(resampler.process(samples)), finish: () => write(resampler.flush()) };
  };
}
