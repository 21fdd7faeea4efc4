import { Encoder as Libopus } from '@evan/opus/wasm/index.js';
import { type Encoder, joinBytes, type OwnedBytes } from './encoder.ts';
import { resampled } from './resample.ts';

/** Full bandwidth for speech; mono speech hardly gains from more. */
const bitrateBps = 32_000;
/** Takes half the time of libopus's default 9, without a measurable difference in speech. */
const complexity = 5;
const framesPerSecond = 50;
/** 100 ms in a page: players start at once, and page headers stay under a tenth of the stream. */
const pageFrames = 5;
/** Ogg counts Opus in samples at this rate, at any rate of the input (RFC 7845). */
const granuleRate = 48_000;
const codecRates = [8000, 12_000, 16_000, 24_000, 48_000];
/** Constant, so that the same speech gives the same file. Serials need only differ between streams in one file. */
const serial = 0x5061_726c;
const vendor = 'Parley';

/** Names and numbers of libopus's opus_defines.h. */
const setBitrate = 4002;
const setComplexity = 4010;
const setSignal = 4024;
const signalVoice = 3001;
const getLookahead = 4027;

/** An Ogg Opus file. Other rates than those of Opus are resampled to 24 or 48 kHz, the next higher one. */
export function createOpusEncoder(sampleRate: number): Encoder {
  const rate = codecRates.includes(sampleRate) ? sampleRate : sampleRate < 24_000 ? 24_000 : 48_000;
  return resampled(new OggOpusEncoder(rate, sampleRate), sampleRate, rate);
}

class OggOpusEncoder implements Encoder {
  readonly #codec: Libopus;
  readonly #pages = new OggPageWriter(serial);
  readonly #frame: Int16Array;
  readonly #granulesPerSample: number;
  readonly #lookaheadSamples: number;
  #frameFill = 0;
  #samplesIn = 0;
  #framesOut = 0;
  #packets: Uint8Array[] = [];
  #written: Uint8Array[];

  constructor(rate: number, sourceRate: number) {
    this.#codec = new Libopus({ channels: 1, application: 'voip', sample_rate: rate });
    this.#codec.ctl(setBitrate, bitrateBps);
    this.#codec.ctl(setComplexity, complexity);
    this.#codec.ctl(setSignal, signalVoice);
    this.#lookaheadSamples = this.#codec.ctl(getLookahead);
    this.#frame = new Int16Array(rate / framesPerSecond);
    this.#granulesPerSample = granuleRate / rate;
    const preSkip = this.#lookaheadSamples * this.#granulesPerSample;
    this.#written = [
      this.#pages.page([idHeader(preSkip, sourceRate)], 0),
      this.#pages.page([commentHeader()], 0),
    ];
  }

  encode(samples: Int16Array): OwnedBytes {
    this.#samplesIn += samples.length;
    this.#fill(samples);
    return this.#taken();
  }

  /**
   * Encodes silence until the last sample has passed the codec's delay. The last page states that sample's position;
   * players drop the rest of the last frame.
   */
  finish(): OwnedBytes {
    const samplesDue = this.#samplesIn + this.#lookaheadSamples;
    const frames = Math.ceil(samplesDue / this.#frame.length);
    this.#fill(new Int16Array(frames * this.#frame.length - this.#samplesIn), frames);
    this.#written.push(this.#pages.page(this.#packets, samplesDue * this.#granulesPerSample, true));
    return this.#taken();
  }

  free(): void {
    this.#codec.drop();
  }

  /** `lastFrame` is the number of the frame that belongs on the last page. */
  #fill(samples: Int16Array, lastFrame = Number.POSITIVE_INFINITY): void {
    let offset = 0;
    while (offset < samples.length) {
      const part = samples.subarray(offset, offset + this.#frame.length - this.#frameFill);
      this.#frame.set(part, this.#frameFill);
      this.#frameFill += part.length;
      offset += part.length;
      if (this.#frameFill === this.#frame.length) this.#encodeFrame(lastFrame);
    }
  }

  #encodeFrame(lastFrame: number): void {
    this.#packets.push(this.#codec.encode(this.#frame));
    this.#frameFill = 0;
    this.#framesOut += 1;
    if (this.#packets.length < pageFrames || this.#framesOut === lastFrame) return;
    const granule = this.#framesOut * this.#frame.length * this.#granulesPerSample;
    this.#written.push(this.#pages.page(this.#packets, granule));
    this.#packets = [];
  }

  #taken(): OwnedBytes {
    const bytes = joinBytes(this.#written);
    this.#written = [];
    return bytes;
  }
}

function idHeader(preSkip: number, sourceRate: number): Uint8Array {
  const header = new Uint8Array(19);
  const view = new DataView(header.buffer);
  header.set(Buffer.from('OpusHead'), 0);
  view.setUint8(8, 1); // version
  view.setUint8(9, 1); // channels
  view.setUint16(10, preSkip, true);
  view.setUint32(12, sourceRate, true);
  return header;
}

function commentHeader(): Uint8Array {
  const header = new Uint8Array(8 + 4 + vendor.length + 4);
  header.set(Buffer.from('OpusTags'), 0);
  new DataView(header.buffer).setUint32(8, vendor.length, true);
  header.set(Buffer.from(vendor), 12);
  return header;
}

const headerBytes = 27;
const checksumOffset = 22;
/** A packet's length is written as bytes of this value and one smaller byte. */
const lacingMax = 255;
const segmentsMax = 255;

const flagFirstPage = 0x02;
const flagLastPage = 0x04;

/** Writes one logical Ogg stream, page after page (RFC 3533). A packet never continues on the next page. */
class OggPageWriter {
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
