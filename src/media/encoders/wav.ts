const headerBytes = 44;

/**
 * The length of a stream of unknown length: all bits set, in both length fields. ffmpeg and browsers read only this
 * value as "until the end" and show no false duration; sox and Python's `wave` read to the end of the file. OpenAI
 * sends the same.
 */
export const unknownLength = 0xffff_ffff;

/** The format of a WAV file, as in its header. */
interface WavFormat {
  /** 1 for integer PCM, 6 for A-law, 7 for mu-law. */
  readonly encoding: number;
  readonly channels: number;
  readonly bitsPerSample: number;
}

/** @param dataBytes of samples, or `unknownLength` for a stream. @param format Default: mono 16-bit PCM */
export function wavHeader(
  sampleRate: number,
  dataBytes: number,
  { encoding, channels, bitsPerSample }: WavFormat = { encoding: 1, channels: 1, bitsPerSample: 16 },
): Uint8Array {
  const bytesPerSample = (channels * bitsPerSample) / 8;
  const header = new Uint8Array(headerBytes);
  const view = new DataView(header.buffer);
  const riffBytes = dataBytes === unknownLength ? unknownLength : dataBytes + headerBytes - 8;
  header.set(Buffer.from('RIFF'), 0);
  view.setUint32(4, riffBytes, true);
  header.set(Buffer.from('WAVEfmt '), 8);
  view.setUint32(16, 16, true); // bytes of the format chunk
  view.setUint16(20, encoding, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * bytesPerSample, true);
  view.setUint16(32, bytesPerSample, true);
  view.setUint16(34, bitsPerSample, true);
  header.set(Buffer.from('data'), 36);
  view.setUint32(40, dataBytes, true);
  return header;
}

/** Programs that write streams state 0 or about 2 GB until they know the length. */
const placeholderMin = 0x7fff_0000;

/** The beginning of a WAV, with `unknownLength` in the place of such a placeholder. */
export function withUnknownLength(bytes: Uint8Array, { dataAt, dataBytes }: WavHead): Uint8Array {
  if (dataBytes > 0 && dataBytes < placeholderMin) return bytes;
  const changed = Buffer.from(bytes);
  changed.writeUInt32LE(unknownLength, 4);
  changed.writeUInt32LE(unknownLength, dataAt - 4);
  return changed;
}

export interface WavHead extends WavFormat {
  /** Hertz. */
  readonly sampleRate: number;
  readonly bytesPerSecond: number;
  /** Offset of the samples in the file. */
  readonly dataAt: number;
  /** Bytes of samples as the header states them: 0 or far too many in a file that was written as a stream. */
  readonly dataBytes: number;
}

/** Reads the header of a WAV file. Undefined if it is not a WAV file, or its samples begin beyond `bytes`. */
export function readWavHead(bytes: Uint8Array): WavHead | undefined {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!['RIFF', 'RF64'].includes(head.toString('latin1', 0, 4))) return undefined;
  let format = { encoding: 0, channels: 0, sampleRate: 0, bytesPerSecond: 0, bitsPerSample: 0 };
  for (let at = 12; at + 8 <= head.length; ) {
    const name = head.toString('latin1', at, at + 4);
    const size = head.readUInt32LE(at + 4);
    if (name === 'data') {
      return format.bytesPerSecond > 0 ? { ...format, dataAt: at + 8, dataBytes: size } : undefined;
    }
    if (name === 'fmt ' && at + 24 <= head.length) {
      format = {
        encoding: head.readUInt16LE(at + 8),
        channels: head.readUInt16LE(at + 10),
        sampleRate: head.readUInt32LE(at + 12),
        bytesPerSecond: head.readUInt32LE(at + 16),
        bitsPerSample: head.readUInt16LE(at + 22),
      };
    }
    at += 8 + size + (size % 2);
  }
  return undefined;
}
