import { endianness } from 'node:os';
import type { Encoder } from './encoder.ts';

/** Clients read headerless `pcm` as 16-bit little-endian mono at this rate, for every voice. */
export const pcmSampleRate = 24_000;

const isLittleEndian = endianness() === 'LE';

/** The samples as little-endian bytes: a view on the same memory on a little-endian machine, else a copy. */
export function littleEndianBytes<Memory extends ArrayBufferLike>(
  samples: Int16Array<Memory>,
): Uint8Array<Memory | ArrayBuffer> {
  if (isLittleEndian) return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  const copy = samples.slice();
  Buffer.from(copy.buffer).swap16();
  return new Uint8Array(copy.buffer);
}

/** Takes samples at 24 kHz. */
export function createPcmEncoder(): Encoder {
  return {
    encode: (samples) => littleEndianBytes(new Int16Array(samples)),
    finish: () => new Uint8Array(0),
    free() {},
  };
}
