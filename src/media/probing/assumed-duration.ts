import type { MediaContainer } from './file-format.ts';

/** About the lowest rates at which speech is packed in each, in bits a second. */
const leastBitrates: Readonly<Record<MediaContainer, number>> = {
  flac: 64_000,
  mp3: 16_000,
  mp4: 16_000,
  mpeg: 32_000,
  ogg: 8_000,
  wav: 64_000,
  webm: 8_000,
};

/** Milliseconds that a file of so many bytes counts as where nobody can tell its length: about as long as it can be. */
export function assumedDurationMs(bytes: number, container: MediaContainer): number {
  return Math.ceil((bytes * 8000) / leastBitrates[container]);
}
