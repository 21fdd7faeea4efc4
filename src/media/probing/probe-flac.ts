/** The duration of a FLAC file by the number of its last frame: a file written as a stream does not state it in its header. */

const streamInfoAt = 8;
const headerBytesMax = 16;

/** Milliseconds until the end of the last frame that has a whole header; undefined without frames. */
export function flacLastFrameMs(bytes: Uint8Array): number | undefined {
  if (bytes.length < streamInfoAt + 34) return undefined;
  const info = new DataView(bytes.buffer, bytes.byteOffset + streamInfoAt, 34);
  const fixedBlock = info.getUint16(0);
  const sampleRate = info.getUint32(10) >>> 12;
  if (sampleRate === 0) return undefined;
  for (let at = bytes.length - 6; at >= streamInfoAt + 34; at--) {
    if (bytes[at] !== 0xff || ((bytes[at + 1] ?? 0) & 0xfe) !== 0xf8) continue;
    const frame = frameHeader(bytes.subarray(at, at + headerBytesMax));
    if (frame === undefined) continue;
    const firstSample = frame.hasFixedBlocks ? frame.number * fixedBlock : frame.number;
    return ((firstSample + frame.samples) * 1000) / sampleRate;
  }
  return undefined;
}

interface Frame {
  readonly hasFixedBlocks: boolean;
  /** Number of the frame if blocks have a fixed length, else of its first sample. */
  readonly number: number;
  readonly samples: number;
}

/** The frame header at the start of `bytes`; undefined where the checksum does not match. */
function frameHeader(bytes: Uint8Array): Frame | undefined {
  const [, flags = 0, sizes = 0] = bytes;
  const coded = codedNumber(bytes, 4);
  if (coded === undefined) return undefined;
  const sizeCode = sizes >> 4;
  const sizeBytes = sizeCode === 6 ? 1 : sizeCode === 7 ? 2 : 0;
  const rateCode = sizes & 15;
  const rateBytes = rateCode === 12 ? 1 : rateCode === 13 || rateCode === 14 ? 2 : 0;
  const end = coded.end + sizeBytes + rateBytes;
  if (end >= bytes.length || sizeCode === 0 || crc8(bytes.subarray(0, end)) !== bytes[end]) return undefined;
  const written = bytes.subarray(coded.end, coded.end + sizeBytes);
  const samples =
    sizeBytes > 0 ? written.reduce((sum, byte) => sum * 256 + byte, 0) + 1 : blockSize(sizeCode);
  return { hasFixedBlocks: (flags & 1) === 0, number: coded.value, samples };
}

function blockSize(code: number): number {
  if (code === 1) return 192;
  return code < 6 ? 144 * 2 ** code : 2 ** code;
}

/** Reads a number of up to 36 bits, coded as in UTF-8. */
function codedNumber(bytes: Uint8Array, at: number): { value: number; end: number } | undefined {
  const first = bytes[at] ?? 0;
  const ones = Math.clz32(~(first << 24));
  if (ones === 0) return { value: first, end: at + 1 };
  if (ones === 1 || ones > 7) return undefined;
  let value = first & (0x7f >> ones);
  for (let next = at + 1; next < at + ones; next++) {
    const byte = bytes[next] ?? 0;
    if ((byte & 0xc0) !== 0x80) return undefined;
    value = value * 64 + (byte & 0x3f);
  }
  return { value, end: at + ones };
}

function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? 0x07 : 0)) & 0xff;
  }
  return crc;
}
