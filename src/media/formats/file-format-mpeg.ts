/** Reads headers of MPEG audio frames (layers I to III), and distinguishes them from random bytes. */

/** Kilobits per second by bitrate index 1 to 14: MPEG 1 by layer, then MPEG 2 and 2.5, where layers II and III are equal. */
const bitrates = {
  mpeg1Layer1: [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  mpeg1Layer2: [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  mpeg1Layer3: [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  mpeg2Layer1: [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  mpeg2Layer23: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;

const mpeg1SampleRates = [44_100, 48_000, 32_000] as const;

/** Whether `count` frames follow one another, beginning within the first `searchBytesMax` bytes. */
export function hasMpegFrames(bytes: Uint8Array, count: number, searchBytesMax: number): boolean {
  const end = Math.min(bytes.length - 4, searchBytesMax);
  for (let at = 0; at <= end; at += 1) {
    if (bytes[at] === 0xff && framesInRow(bytes, at, count)) return true;
  }
  return false;
}

function framesInRow(bytes: Uint8Array, start: number, count: number): boolean {
  let at = start;
  for (let found = 0; found < count; found += 1) {
    const frameBytes = mpegFrameAt(bytes, at);
    if (frameBytes === undefined) return false;
    at += frameBytes;
  }
  return true;
}

/** The length in bytes of the MPEG audio frame whose header is at `at`; undefined without a header. */
export function mpegFrameAt(bytes: Uint8Array, at: number): number | undefined {
  const [sync = 0, flags = 0, rates = 0] = bytes.subarray(at, at + 3);
  const version = (flags >> 3) & 3;
  const layer = 4 - ((flags >> 1) & 3);
  const sampleRate = mpeg1SampleRates[(rates >> 2) & 3];
  const isHeader = sync === 0xff && (flags & 0xe0) === 0xe0 && version !== 1 && layer !== 4;
  if (!isHeader || sampleRate === undefined) return undefined;
  const kilobits = bitrateTable(version === 3, layer)[(rates >> 4) - 1];
  // A frame with a free bitrate does not state its length. Such frames are so rare that they are ignored.
  if (kilobits === undefined) return undefined;
  const divider = version === 3 ? 1 : version === 2 ? 2 : 4;
  return frameLength(layer, version === 3, kilobits * 1000, sampleRate / divider, (rates >> 1) & 1);
}

function bitrateTable(isMpeg1: boolean, layer: number): readonly number[] {
  if (layer === 1) return isMpeg1 ? bitrates.mpeg1Layer1 : bitrates.mpeg2Layer1;
  if (!isMpeg1) return bitrates.mpeg2Layer23;
  return layer === 2 ? bitrates.mpeg1Layer2 : bitrates.mpeg1Layer3;
}

function frameLength(
  layer: number,
  isMpeg1: boolean,
  bitrate: number,
  sampleRate: number,
  padding: number,
): number {
  if (layer === 1) return (Math.floor((12 * bitrate) / sampleRate) + padding) * 4;
  const samples = layer === 3 && !isMpeg1 ? 576 : 1152;
  return Math.floor(((samples / 8) * bitrate) / sampleRate) + padding;
}
