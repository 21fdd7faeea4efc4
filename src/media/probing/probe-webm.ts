/** The duration of a WebM file by the times of its blocks: browsers record without stating it in the header. */

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

/** Elements with children. All others are skipped by their length. */
const containers: readonly number[] = [ids.segment, ids.info, ids.cluster, ids.blockGroup];

const nanosecondsPerMs = 1_000_000;

/** Milliseconds until the start of the last block; undefined without blocks. Each step reads two bytes or more. */
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
  /** Offset of the content. */
  readonly start: number;
  /** Bytes of the content; infinite where a live stream leaves it open. */
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
  // All bits set.
  const isOpen = length === mark * 256 ** (lengthBytes - 1) - 1;
  return {
    id: wholeNumber(file, at, idBytes),
    start,
    length: isOpen ? Number.POSITIVE_INFINITY : length,
  };
}

/** Bytes of a variable-size integer, by its leading zeros; 9 beyond the end of the file. */
function vintBytes(file: DataView, at: number): number {
  return at < file.byteLength ? Math.clz32(file.getUint8(at)) - 23 : 9;
}

/** Reads an unsigned integer of up to eight bytes, cut at the end of the file. */
function wholeNumber(file: DataView, start: number, length: number): number {
  let value = 0;
  const end = Math.min(start + Math.min(length, 8), file.byteLength);
  for (let at = start; at < end; at++) value = value * 256 + file.getUint8(at);
  return value;
}

/** Reads the time of a block relative to its cluster, which follows the track number. */
function blockOffset(file: DataView, start: number): number {
  const at = start + vintBytes(file, start);
  return at + 2 <= file.byteLength ? file.getInt16(at) : 0;
}
