import { type Encoder, joinBytes } from './encoder.ts';
import { Resampler } from './resample.ts';

/** An encoder for samples at `fromRate` in front of one that takes them at `toRate`; that one itself where both are equal. */
export function resampled(encoder: Encoder, fromRate: number, toRate: number): Encoder {
  if (fromRate === toRate) return encoder;
  const resampler = new Resampler(fromRate, toRate);
  return {
    encode: (samples) => encoder.encode(resampler.process(samples)),
    finish: () => joinBytes([encoder.encode(resampler.flush()), encoder.finish()]),
    free: () => encoder.free(),
  };
}
