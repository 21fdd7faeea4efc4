/** What the head of a WAV file says of its samples. */

export interface WavHead {
  readonly bytesPerSecond: number;
  /** Where the samples begin. */
  readonly dataAt: number;
  /** Bytes of samples, as claimed: a file that was written as a stream claims none, or far too many. */
  readonly dataBytes: number;
}

/** Undefined where the file is no WAV, or its samples do not begin within `bytes`. */
export function readWavHead(bytes: Uint8Array): WavHead | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!['RIFF', 'RF64'].includes(head.toString('latin1', 0, 4))) return undefined;
  let bytesPerSecond = 0;
  for (let at = 12; at + 8 <= head.length; ) {
    const name = head.toString('latin1', at, at + 4);
    const size = head.readUInt32LE(at + 4);
    if (name === 'data') {
      return bytesPerSecond > 0 ? { bytesPerSecond, dataAt: at + 8, dataBytes: size } : undefined;
    }
    if (name === 'fmt ' && at + 20 <= head.length) bytesPerSecond = head.readUInt32LE(at + 16);
    at += 8 + size + (size % 2);
  }
  return undefined;
}
