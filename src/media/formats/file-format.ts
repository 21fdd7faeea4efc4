/**
 * Detects which of the ten supported formats a file has. The content decides; the name only helps if the first bytes
 * fit several formats. Every search is bounded, whatever lengths the file states.
 */
import { ParleyError } from '../../core/values/errors.ts';

/** The ten formats are seven containers: m4a is mp4, oga is ogg, mpga is mp3. */
const mediaContainers = ['flac', 'mp3', 'mp4', 'mpeg', 'ogg', 'wav', 'webm'] as const;
export type MediaContainer = (typeof mediaContainers)[number];

/** The first MPEG frame must start within this many bytes, as some recorders write padding before it. */
const mpegSearchBytesMax = 65_536;

const formatList = 'flac, m4a, mp3, mp4, mpeg, mpga, oga, ogg, wav or webm';

/**
 * The container of `bytes`. Throws `unsupported_file_format` for another known format, and `invalid_file` for an empty
 * file or an unknown format.
 */
export function detectContainer(bytes: Uint8Array, fileName: string | undefined): MediaContainer {
  if (bytes.length === 0) {
    throw new ParleyError('invalid_file', {
      message: 'The file is empty. Send an audio file.',
      param: 'file',
    });
  }
  const file = new FileHead(bytes);
  const container =
    containerBySignature(file) ??
    isoMediaContainer(file, fileName) ??
    ebmlContainer(file) ??
    id3Container(file);
  if (container !== undefined) return container;
  const other = nameOfOtherFormat(bytes);
  if (other !== undefined) throw unsupported(other);
  if (isMpegAudio(bytes, fileName)) return 'mp3';
  throw new ParleyError('invalid_file', {
    message: `The file is not recognised as audio. Send ${formatList}.`,
    param: 'file',
  });
}

export function unsupported(name: string): ParleyError {
  return new ParleyError('unsupported_file_format', {
    message: `The file is ${name}, which is not supported. Convert it to ${formatList}.`,
    param: 'file',
  });
}

/** Reads a file's bytes. Bytes beyond its end are 0 or missing. */
class FileHead {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  byte(at: number): number {
    return this.bytes[at] ?? 0;
  }

  /** Four bytes as a big-endian number. */
  word(at: number): number {
    return (
      ((this.byte(at) << 24) | (this.byte(at + 1) << 16) | (this.byte(at + 2) << 8) | this.byte(at + 3)) >>> 0
    );
  }

  text(at: number, length: number): string {
    return String.fromCharCode(...this.bytes.subarray(at, at + length));
  }
}

function containerBySignature(file: FileHead): MediaContainer | undefined {
  const tag = file.text(0, 4);
  if (tag === 'fLaC') return 'flac';
  if (tag === 'OggS') return 'ogg';
  if (['RIFF', 'RIFX', 'RF64', 'BW64'].includes(tag) && file.text(8, 4) === 'WAVE') return 'wav';
  return isMpegProgramStart(file.word(0)) ? 'mpeg' : undefined;
}

/** A pack header, a system header, or the audio or video packet at the start of a cut stream. */
function isMpegProgramStart(word: number): boolean {
  return word === 0x1ba || word === 0x1bb || (word >= 0x1c0 && word <= 0x1ef) || word === 0x1bd;
}

const mp4Brands = /^(iso.|mp4.|M4A |M4B |M4P |M4V |avc1|dash|cmf.|F4A |F4V |MSNV|NDA.)$/;

/** MP4 files state their brands. The related QuickTime, 3GP, HEIF and JPEG 2000 state others and are not supported. */
function isoMediaContainer(file: FileHead, fileName: string | undefined): MediaContainer | undefined {
  const box = file.text(4, 4);
  if (box !== 'ftyp') {
    // The oldest MP4 files state no brand and look like QuickTime, so only here the file's name decides.
    const looksLikeEither = ['moov', 'mdat', 'wide', 'free', 'skip'].includes(box);
    if (!looksLikeEither) return undefined;
    if (/\.(mp4|m4a)$/i.test(fileName ?? '')) return 'mp4';
    throw unsupported('a QuickTime movie');
  }
  const boxBytes = Math.min(file.word(0), 512);
  const brands = [file.text(8, 4)];
  for (let at = 16; at + 4 <= boxBytes; at += 4) brands.push(file.text(at, 4));
  if (brands.some((brand) => mp4Brands.test(brand))) return 'mp4';
  if (brands[0] === 'qt  ') throw unsupported('a QuickTime movie');
  throw unsupported(`an ISO media file of the brand "${brands[0]?.replace(/[^\x20-\x7e]/g, '').trim()}"`);
}

/**
 * WebM is a subset of Matroska. Other Matroska files (.mkv, .mka) have another document type, may hold any codec, and
 * are not supported.
 */
function ebmlContainer(file: FileHead): MediaContainer | undefined {
  if (file.word(0) !== 0x1a45dfa3) return undefined;
  const head = file.text(4, 128);
  const docType = head.indexOf('\x42\x82');
  if (docType < 0) return undefined;
  const length = head.charCodeAt(docType + 2) & 0x7f;
  const name = head.slice(docType + 3, docType + 3 + length).replace(/\0+$/, '');
  if (name === 'webm') return 'webm';
  throw unsupported(
    name === 'matroska' ? 'a Matroska (.mkv, .mka) file that is not WebM' : 'an EBML file of another kind',
  );
}

/** ID3 tags precede MP3, and by mistake other formats; the bytes after them decide. */
function id3Container(file: FileHead): MediaContainer | undefined {
  let end = 0;
  while (file.text(end, 3) === 'ID3') end += id3Bytes(file, end);
  if (end === 0) return undefined;
  while (end < file.bytes.length && file.byte(end) === 0) end += 1;
  const after = file.bytes.subarray(end);
  if (new FileHead(after).text(0, 4) === 'fLaC') return 'flac';
  const other = nameOfOtherFormat(after);
  if (other !== undefined && mpegFrameAt(after, 0) === undefined) throw unsupported(other);
  return 'mp3';
}

function id3Bytes(file: FileHead, start: number): number {
  const size = [6, 7, 8, 9].reduce((sum, at) => sum * 128 + (file.byte(start + at) & 0x7f), 0);
  const hasFooter = (file.byte(start + 5) & 0x10) !== 0;
  return 10 + size + (hasFooter ? 10 : 0);
}

function isMpegAudio(bytes: Uint8Array, fileName: string | undefined): boolean {
  if (hasMpegFrames(bytes, 3, mpegSearchBytesMax)) return true;
  // A single frame could be random bytes, so the file's name decides.
  return mpegFrameAt(bytes, 0) !== undefined && /\.(mp3|mpga|mpeg)$/i.test(fileName ?? '');
}

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
function hasMpegFrames(bytes: Uint8Array, count: number, searchBytesMax: number): boolean {
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
function mpegFrameAt(bytes: Uint8Array, at: number): number | undefined {
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

/** Known formats that are not supported, so that the error names the format. */

interface Signature {
  readonly name: string;
  /** Offset of the mark. Default 0. */
  readonly at?: number;
  /** The bytes of the mark, one character each. */
  readonly mark: string;
}

const signatures: readonly Signature[] = [
  { name: 'AIFF audio', mark: 'AIFF', at: 8 },
  { name: 'AIFF audio', mark: 'AIFC', at: 8 },
  { name: 'AMR audio', mark: '#!AMR' },
  { name: 'a MIDI file', mark: 'MThd' },
  { name: 'CAF audio', mark: 'caff' },
  { name: 'AU audio', mark: '.snd' },
  { name: 'Wave64 audio', mark: 'riff\x2e\x91\xcf\x11' },
  { name: 'WavPack audio', mark: 'wvpk' },
  { name: "Monkey's Audio", mark: 'MAC ' },
  { name: 'DSD audio', mark: 'DSD ' },
  { name: 'Musepack audio', mark: 'MPCK' },
  { name: 'a Windows Media file', mark: '\x30\x26\xb2\x75\x8e\x66\xcf\x11' },
  { name: 'an AVI video', mark: 'AVI ', at: 8 },
  { name: 'a Flash video', mark: 'FLV\x01' },
  { name: 'a PNG image', mark: '\x89PNG\r\n\x1a\n' },
  { name: 'a JPEG image', mark: '\xff\xd8\xff' },
  { name: 'a GIF image', mark: 'GIF8' },
  { name: 'a WebP image', mark: 'WEBP', at: 8 },
  { name: 'a PDF document', mark: '%PDF-' },
  { name: 'a ZIP archive', mark: 'PK\x03\x04' },
  { name: 'an empty ZIP archive', mark: 'PK\x05\x06' },
  { name: 'a gzip archive', mark: '\x1f\x8b\x08' },
  { name: 'a bzip2 archive', mark: 'BZh' },
  { name: 'an xz archive', mark: '\xfd7zXZ\0' },
  { name: 'a Zstandard archive', mark: '\x28\xb5\x2f\xfd' },
  { name: 'a 7z archive', mark: '7z\xbc\xaf\x27\x1c' },
  { name: 'a RAR archive', mark: 'Rar!\x1a\x07' },
  { name: 'a tar archive', mark: 'ustar', at: 257 },
  { name: 'a program', mark: '\x7fELF' },
];

/** The name of a known but unsupported format, for an error message; undefined for other files. */
function nameOfOtherFormat(bytes: Uint8Array): string | undefined {
  const known = signatures.find((signature) => isAt(bytes, signature.mark, signature.at ?? 0));
  if (known !== undefined) return known.name;
  if (isAdts(bytes)) return 'raw AAC (ADTS) audio';
  if (isAc3(bytes)) return 'raw AC-3 audio';
  return isTransportStream(bytes) ? 'an MPEG transport stream' : undefined;
}

function isAt(bytes: Uint8Array, mark: string, at: number): boolean {
  for (let index = 0; index < mark.length; index += 1) {
    if (bytes[at + index] !== mark.charCodeAt(index)) return false;
  }
  return true;
}

/** ADTS has the sync word of MPEG audio with layer 0. The next frame must follow the first. */
function isAdts(bytes: Uint8Array): boolean {
  const frameBytes = adtsFrameAt(bytes, 0);
  return (
    frameBytes !== undefined && (bytes.length <= frameBytes || adtsFrameAt(bytes, frameBytes) !== undefined)
  );
}

function adtsFrameAt(bytes: Uint8Array, at: number): number | undefined {
  const [sync = 0, flags = 0, , high = 0, middle = 0, low = 0] = bytes.subarray(at, at + 6);
  if (sync !== 0xff || (flags & 0xf6) !== 0xf0) return undefined;
  const frameBytes = ((high & 3) << 11) | (middle << 3) | (low >> 5);
  return frameBytes < 7 ? undefined : frameBytes;
}

/** The sync word of AC-3 and E-AC-3 (ATSC A/52), and a version of the syntax that exists. */
function isAc3(bytes: Uint8Array): boolean {
  return isAt(bytes, '\x0b\x77', 0) && (bytes[5] ?? 0xff) >> 3 <= 16;
}

const transportPacketBytes = 188;

function isTransportStream(bytes: Uint8Array): boolean {
  return [0, 1, 2].every((packet) => bytes[packet * transportPacketBytes] === 0x47);
}
