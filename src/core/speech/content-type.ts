import type { AudioFormat } from '../entities/engine.ts';

/**
 * The Content-Type of a speech answer.
 *
 * - `opus` is an Ogg file (RFC 7845), so `audio/ogg`; `audio/opus` means bare RTP packets. Without `codecs=opus`, as some
 *   clients compare the whole value.
 * - `flac` is registered by RFC 9639. `wav` is not registered, but every browser and SDK knows `audio/wav`.
 * - `pcm` has no registered type: `audio/L16` is big-endian. Clients of the OpenAI API read `audio/pcm` as 16-bit
 *   little-endian mono at 24 kHz.
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
