import type { AudioFormat } from '../entities/engine.ts';

/**
 * The Content-Type of a speech answer.
 *
 * - `opus` is an Ogg file (RFC 7845), so `audio/ogg`. Without `codecs=opus`: players find Opus in the first page anyway, and clients
 *   that map the type to a file name compare the whole value. `audio/opus` names bare RTP packets.
 * - `flac` is registered by RFC 9639. `wav` has no registered name in use; every browser and SDK knows `audio/wav`.
 * - `pcm` has no header and no registered type: `audio/L16` means big-endian samples. Clients of the OpenAI API take `audio/pcm` for
 *   16-bit little-endian mono at 24 kHz.
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
