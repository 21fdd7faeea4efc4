/** The length of a WebM file by the times of its blocks: what a browser records says nothing of it in its header. */

const ids = {
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;

/** Elements that hold others. All else is skipped by its length. */
const containers: readonly number[] = [ids.segment, ids.info, ids.cluster, ids.blockGroup];

const nanosecondsPerMs = 1_000_000;

/** Milliseconds until the last block begins; undefined where there is none. Each step takes two bytes or more. */
export function webmLastBlockMs(bytes: Uint8Array): number | undefined {
  const file = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let scale = nanosecondsPerMs;
  let clusterTime = 0;
  let lastTime: number | undefined;
  for (let at = 0; at < bytes.length; ) {
    const element = elementAt(file, at);
    if (element === undefined) break;
    const { id, start, length } = element;
    if (id === ids.timestampScale) scale = wholeNumber(file, start, length);
    if (id === ids.timestamp) clusterTime = wholeNumber(file, start, length);
    if (id === ids.simpleBlock || id === ids.block) {
      lastTime = Math.max(lastTime ?? 0, clusterTime + blockOffset(file, start));
    }
    at = containers.includes(id) ? start : start + length;
  }
  return lastTime === undefined ? undefined : (lastTime * scale) / nanosecondsPerMs;
}

interface Element {
  readonly id: number;
  /** Where its content begins. */
  readonly start: number;
  /** Of its content. That of a live stream may be open, and counts as endless. */
  readonly length: number;
}

function elementAt(file: DataView, at: number): Element | undefined {
  const idBytes = vintBytes(file, at);
  if (idBytes > 4) return undefined;
  const lengthBytes = vintBytes(file, at + idBytes);
  if (lengthBytes > 8) return undefined;
  const start = at + idBytes + lengthBytes;
  if (start > file.byteLength) return undefined;
  const mark = 2 ** (8 - lengthBytes);
  const high = file.getUint8(at + idBytes) - mark;
  const low = wholeNumber(file, start - lengthBytes + 1, lengthBytes - 1);
  const length = high * 256 ** (lengthBytes - 1) + low;
  // All ones.
  const isOpen = length === mark * 256 ** (lengthBytes - 1) - 1;
  return {
    id: wholeNumber(file, at, idBytes),
    start,
    length: isOpen ? Number.POSITIVE_INFINITY : length,
  };
}

/** How long a number is that tells its own length by the zeros it begins with; 9 beyond the end of the file. */
function vintBytes(file: DataView, at: number): number {
  return at < file.byteLength ? Math.clz32(file.getUint8(at)) - 23 : 9;
}

/** The number that is written there, cut at the end of the file and at eight bytes. */
function wholeNumber(file: DataView, start: number, length: number): number {
  let value = 0;
  const end = Math.min(start + Math.min(length, 8), file.byteLength);
  for (let at = start; at < end; at++) value = value * 256 + file.getUint8(at);
  return value;
}

/** A block names its track, then its time from that of its cluster. */
function blockOffset(file: DataView, start: number): number {
  const at = start + vintBytes(file, start);
  return at + 2 <= file.byteLength ? file.getInt16(at) : 0;
}
