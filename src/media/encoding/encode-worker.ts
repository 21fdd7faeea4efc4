/** Worker thread of encoders: a session is a file, its tasks open the encoder and then encode slice by slice. */
import type { AudioFormat } from '../../core/entities/engine.ts';
import { serveTasks } from '../../threads/serve-tasks.ts';
import { type Encoder, joinBytes, type OwnedBytes } from '../encoders/encoder.ts';

/** The formats that need an encoder; WAV is a header and the samples. */
export type ComputedFormat = Exclude<AudioFormat, 'wav'>;

export type EncodeTask =
  | { readonly kind: 'open'; readonly format: ComputedFormat; readonly sampleRate: number }
  /** With `isLast`, the result includes the end of the file. */
  | { readonly kind: 'encode'; readonly samples: Int16Array; readonly isLast: boolean };

const encoders = new Map<number, Promise<Encoder>>();

serveTasks<EncodeTask, OwnedBytes>({
  async run(task, session) {
    if (task.kind === 'open') {
      const opening = openEncoder(task.format, task.sampleRate);
      encoders.set(session, opening);
      await opening;
      return new Uint8Array(0);
    }
    const encoder = await encoders.get(session);
    if (encoder === undefined) throw new Error('the session has no encoder');
    const bytes = encoder.encode(task.samples);
    return task.isLast ? joinBytes([bytes, encoder.finish()]) : bytes;
  },
  transfer: (bytes) => [bytes.buffer],
  async close(session) {
    const opening = encoders.get(session);
    encoders.delete(session);
    // An encoder that failed to open holds nothing.
    const encoder = await opening?.catch(() => undefined);
    encoder?.free();
  },
});

/**
 * An encoder for samples at `sampleRate` hertz. Loads each codec at first use: loading all would slow the start and
 * double the memory of a thread that only writes MP3.
 */
async function openEncoder(format: ComputedFormat, sampleRate: number): Promise<Encoder> {
  switch (format) {
    case 'mp3':
      return (await import('../encoders/mp3.ts')).createMp3Encoder(sampleRate);
    case 'opus':
      return (await import('../encoders/opus.ts')).createOpusEncoder(sampleRate);
    case 'flac':
      return (await import('../encoders/flac.ts')).createFlacEncoder(sampleRate);
    case 'pcm': {
      const { createPcmEncoder, pcmSampleRate } = await import('../encoders/pcm.ts');
      const { resampled } = await import('../encoders/resample.ts');
      return resampled(createPcmEncoder(), sampleRate, pcmSampleRate);
    }
  }
}
