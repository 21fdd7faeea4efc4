const headerBytes = 44;
const bytesPerSample = 2;

/**
 * The length of a stream whose end is not known: all bits set, in both length fields. ffmpeg and the browsers built
 * on it read that value, and no other, as "until the end", and so show no false duration while they play; sox and
 * Python's `wave` read a saved file to its end as they do with any length that is too large. OpenAI sends the same.
 */
export const unknownLength = 0xffff_ffff;

/** The header of a mono 16-bit WAV file with `dataBytes` of samples, or of a stream where that is `unknownLength`. */
export function wavHeader(sampleRate: number, dataBytes: number): Uint8Array {
  const header = new Uint8Array(headerBytes);
  const view = new DataView(header.buffer);
  const riffBytes = dataBytes === unknownLength ? unknownLength : dataBytes + headerBytes - 8;
  header.set(Buffer.from('RIFF'), 0);
  view.setUint32(4, riffBytes, true);
  header.set(Buffer.from('WAVEfmt '), 8);
  view.setUint32(16, 16, true); // bytes of the format chunk
  view.setUint16(20, 1, true); // integer PCM
  view.setUint16(22, 1, true); // channels
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * bytesPerSample, true);
  view.setUint16(32, bytesPerSample, true);
  view.setUint16(34, bytesPerSample * 8, true);
  header.set(Buffer.from('data'), 36);
  view.setUint32(40, dataBytes, true);
  return header;
}
