/** Converts speech of 24 kHz to the audio of a live client: PCM of 16 bits as it is, or G.711 of 8 kHz. */
import type { OpenEncoder } from '../core/entities/live.ts';
import { littleEndianBytes, pcmSampleRate } from './encoders/pcm.ts';
import { Resampler } from './encoders/resample.ts';
import type { RunFilter } from './encoders/resample-filter.ts';
import { alawByte, g711SampleRate, mulawByte } from './g711.ts';
import { pcmReader } from './live-decoder.ts';

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
