/** Converts the audio of a live client to samples of 16 kHz: PCM of 16 bits, or G.711. */
import {
  type AudioDecoder,
  type AudioEncoding,
  liveSampleRate,
  type OpenDecoder,
  type Samples,
} from '../core/entities/live.ts';
import { Resampler } from './encoders/resample.ts';
import type { RunFilter } from './encoders/resample-filter.ts';
import { alawSamples, mulawSamples } from './g711.ts';

/** @param run resamples */
export function decoderOpener(run: RunFilter): OpenDecoder {
  return (encoding, sampleRate) => liveDecoder(encoding, sampleRate, run);
}

function liveDecoder(encoding: AudioEncoding, sampleRate: number, run: RunFilter): AudioDecoder {
  const read =
    encoding === 'pcm16' ? pcmReader() : g711Reader(encoding === 'mulaw' ? mulawSamples : alawSamples);
  if (sampleRate === liveSampleRate) return read;
  const resampler = new Resampler(sampleRate, liveSampleRate, run);
  return (bytes) => resampler.process(read(bytes));
}

function g711Reader(table: Int16Array): AudioDecoder {
  return (bytes) => Int16Array.from(bytes, (byte) => table[byte] ?? 0);
}

/** Little-endian. */
export function pcmReader(): AudioDecoder {
  let half: number | undefined;
  return (bytes): Samples => {
    const first = half === undefined ? 0 : 1;
    const all = new Uint8Array(first + bytes.length);
    if (half !== undefined) all[0] = half;
    all.set(bytes, first);
    half = all.length % 2 === 1 ? all.at(-1) : undefined;
    return new Int16Array(all.buffer, 0, all.length >> 1);
  };
}
