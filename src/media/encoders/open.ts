import type { AudioFormat } from '../../core/ports/engines.ts';
import type { Encoder } from './encoder.ts';

/** The formats that need an encoder; WAV is a header and the samples. */
export type ComputedFormat = Exclude<AudioFormat, 'wav'>;

/**
 * An encoder for samples at `sampleRate` hertz. Loads each codec on first use: all of them would make a thread that
 * writes MP3 start slower and take twice the memory.
 */
export async function openEncoder(format: ComputedFormat, sampleRate: number): Promise<Encoder> {
  switch (format) {
    case 'mp3':
      return (await import('./mp3.ts')).createMp3Encoder(sampleRate);
    case 'opus':
      return (await import('./opus.ts')).createOpusEncoder(sampleRate);
    case 'flac':
      return (await import('./flac.ts')).createFlacEncoder(sampleRate);
    case 'pcm': {
      const { createPcmEncoder, pcmSampleRate } = await import('./pcm.ts');
      const { resampled } = await import('./resample.ts');
      return resampled(createPcmEncoder(), sampleRate, pcmSampleRate);
    }
  }
}
