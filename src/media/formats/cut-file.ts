/** Finds files whose end is missing, by the sizes that their parts state. */
import type { MediaContainer } from './file-format.ts';

/**
 * Whether the end of the file is missing. MP4 and WebM state the bytes of their parts, so a whole file is known as one,
 * even if it states a wrong duration. A file of another container may be cut.
 */
export function mayBeCut(bytes: Uint8Array, container: MediaContainer): boolean {
  if (container === 'mp4') return endOfBoxes(bytes) > bytes.length;
  return container === 'webm' ? endOfElements(bytes) > bytes.length : true;
}

/** Where the last box ends (ISO/IEC 14496-12, 4.2). */
function endOfBoxes(bytes: Uint8Array): number {
  let at = 0;
  while (at + 8 <= bytes.length) {
    const size = numberAt(bytes, at, 4);
    const boxBytes = size === 1 ? numberAt(bytes, at + 8, 8) : size;
    // 0 states that the box extends to the end of the file. Other small sizes are faults.
    if (boxBytes < 8) return bytes.length;
    at += boxBytes;
  }
  return at;
}

/** Where the last element ends (RFC 8794). An element of unknown size ends with the last one in it. */
function endOfElements(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const sizeAt = at + lengthAt(bytes, at);
    const sizeBytes = lengthAt(bytes, sizeAt);
    if (sizeBytes > 8) return bytes.length;
    const first = (bytes[sizeAt] ?? 0) & (0xff >> sizeBytes);
    const size = first * 256 ** (sizeBytes - 1) + numberAt(bytes, sizeAt + 1, sizeBytes - 1);
    const isUnknown = size === 2 ** (7 * sizeBytes) - 1;
    at = sizeAt + sizeBytes + (isUnknown ? 0 : size);
  }
  return at;
}

/** The bytes of the number that begins here: one more than its first byte has leading zeros. */
function lengthAt(bytes: Uint8Array, at: number): number {
  return Math.clz32(bytes[at] ?? 0) - 23;
}

/** Bytes beyond the end are 0. */
function numberAt(bytes: Uint8Array, at: number, length: number): number {
  let value = 0;
  for (let index = 0; index < length; index++) value = value * 256 + (bytes[at + index] ?? 0);
  return value;
}
