import type { AudioFormat } from '../../core/ports/engines.ts';
import type { Encoder } from './encoder.ts';

/** The formats that take work; WAV only puts a header before its samples. */
export type ComputedFormat = Exclude<AudioFormat, 'wav'>;

/**
 * A new file in `format` from samples at `sampleRate` hertz. A codec is loaded when it is first asked for: together
 * they would make a thread that writes MP3 start slower and weigh twice as much.
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
      const { resampled } = await import('./resampled.ts');
      return resampled(createPcmEncoder(), sampleRate, pcmSampleRate);
    }
  }
}
