import type { AudioFormat } from '../ports/engines.ts';

/**
 * The Content-Type of a speech answer.
 *
 * - `opus` is the Ogg file of RFC 7845, whose type is `audio/ogg`. The optional `codecs=opus` is left out: players
 *   find Opus in the first page anyway, and clients that map the type to a file name compare it whole.
 *   `audio/opus` would be wrong, it names bare RTP packets.
 * - `flac` is registered by RFC 9639. `wav` has no registered name in use; every browser and SDK knows `audio/wav`.
 * - `pcm` has no header and no registered type that is true for it: `audio/L16` means big-endian samples. So it has
 *   the `audio/pcm` that clients of the OpenAI API know to mean 16-bit little-endian mono at 24 kHz.
 */
const contentTypes: Readonly<Record<AudioFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

export function contentType(format: AudioFormat): string {
  return contentTypes[format];
}
