import { joinBytes, type OwnedBytes } from './encoder.ts';

const headerBytes = 27;
const checksumOffset = 22;
/** A packet's length is written as bytes of this value and one smaller byte. */
const lacingMax = 255;
const segmentsMax = 255;

const flagFirstPage = 0x02;
const flagLastPage = 0x04;

/** Writes one logical Ogg stream, page after page (RFC 3533). A packet never continues on the next page. */
export class OggPageWriter {
  readonly #serial: number;
  #pages = 0;

  constructor(serial: number) {
    this.#serial = serial;
  }

  /**
   * A page of whole packets. `granule` is the position after its last packet, in the codec's own unit. Throws if the
   * packets do not fit: a page holds 255 segments of 255 bytes.
   */
  page(packets: readonly Uint8Array[], granule: number, isLast = false): OwnedBytes {
    const segments = packets.flatMap((packet) => lacing(packet.length));
    if (segments.length > segmentsMax) throw new RangeError('the packets do not fit on one Ogg page');

    const flags = (this.#pages === 0 ? flagFirstPage : 0) | (isLast ? flagLastPage : 0);
    const page = joinBytes([new Uint8Array(headerBytes), Uint8Array.from(segments), ...packets]);
    const view = new DataView(page.buffer);
    page.set(Buffer.from('OggS'), 0);
    view.setUint8(5, flags);
    view.setBigUint64(6, BigInt(granule), true);
    view.setUint32(14, this.#serial, true);
    view.setUint32(18, this.#pages, true);
    view.setUint8(26, segments.length);
    view.setUint32(checksumOffset, checksum(page), true);
    this.#pages += 1;
    return page;
  }
}

function lacing(packetBytes: number): number[] {
  const full = Math.floor(packetBytes / lacingMax);
  return [...new Array<number>(full).fill(lacingMax), packetBytes % lacingMax];
}

/** CRC-32 with Ogg's polynomial, most significant bit first, over the page with a checksum field of zero. */
function checksum(page: Uint8Array): number {
  let crc = 0;
  for (const byte of page) crc = (crc << 8) ^ (checksumTable[(crc >>> 24) ^ byte] ?? 0);
  return crc >>> 0;
}

const checksumTable = Int32Array.from({ length: 256 }, (_, index) => {
  let crc = index << 24;
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc < 0 ? 0x04c1_1db7 : 0);
  return crc;
});
