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
  const container =
    containerBySignature(bytes) ??
    isoMediaContainer(bytes, fileName) ??
    ebmlContainer(bytes) ??
    id3Container(bytes);
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

/** One character a byte. Bytes beyond the end are missing. */
function textAt(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}

function containerBySignature(bytes: Uint8Array): MediaContainer | undefined {
  const tag = textAt(bytes, 0, 4);
  if (tag === 'fLaC') return 'flac';
  if (tag === 'OggS') return 'ogg';
  if (['RIFF', 'RIFX', 'RF64', 'BW64'].includes(tag) && textAt(bytes, 8, 4) === 'WAVE') return 'wav';
  // A pack header, a system header, or the audio or video packet at the start of a cut stream.
  return tag.startsWith('\0\0\x01') && /[\xba\xbb\xbd\xc0-\xef]$/.test(tag) ? 'mpeg' : undefined;
}

const mp4Brands = /^(iso.|mp4.|M4A |M4B |M4P |M4V |avc1|dash|cmf.|F4A |F4V |MSNV|NDA.)$/;

/** MP4 files state their brands. The related QuickTime, 3GP, HEIF and JPEG 2000 state others and are not supported. */
function isoMediaContainer(bytes: Uint8Array, fileName: string | undefined): MediaContainer | undefined {
  const box = textAt(bytes, 4, 4);
  if (box !== 'ftyp') {
    // The oldest MP4 files state no brand and look like QuickTime, so only here the file's name decides.
    const looksLikeEither = ['moov', 'mdat', 'wide', 'free', 'skip'].includes(box);
    if (!looksLikeEither) return undefined;
    if (/\.(mp4|m4a)$/i.test(fileName ?? '')) return 'mp4';
    throw unsupported('a QuickTime movie');
  }
  const boxBytes = Math.min(new DataView(bytes.buffer, bytes.byteOffset).getUint32(0), 512);
  const brands = [textAt(bytes, 8, 4)];
  for (let at = 16; at + 4 <= boxBytes; at += 4) brands.push(textAt(bytes, at, 4));
  if (brands.some((brand) => mp4Brands.test(brand))) return 'mp4';
  if (brands[0] === 'qt  ') throw unsupported('a QuickTime movie');
  throw unsupported(`an ISO media file of the brand "${brands[0]?.replace(/[^\x20-\x7e]/g, '').trim()}"`);
}

/**
 * WebM is a subset of Matroska. Other Matroska files (.mkv, .mka) have another document type, may hold any codec, and
 * are not supported.
 */
function ebmlContainer(bytes: Uint8Array): MediaContainer | undefined {
  if (textAt(bytes, 0, 4) !== '\x1a\x45\xdf\xa3') return undefined;
  const head = textAt(bytes, 4, 128);
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
function id3Container(bytes: Uint8Array): MediaContainer | undefined {
  let end = 0;
  while (textAt(bytes, end, 3) === 'ID3') end += id3Bytes(bytes.subarray(end, end + 10));
  if (end === 0) return undefined;
  while (bytes[end] === 0) end += 1;
  const after = bytes.subarray(end);
  if (textAt(after, 0, 4) === 'fLaC') return 'flac';
  const other = nameOfOtherFormat(after);
  if (other !== undefined && mpegFrameAt(after, 0) === undefined) throw unsupported(other);
  return 'mp3';
}

function id3Bytes(header: Uint8Array): number {
  const size = header.subarray(6).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
  const hasFooter = ((header[5] ?? 0) & 0x10) !== 0;
  return 10 + size + (hasFooter ? 10 : 0);
}

function isMpegAudio(bytes: Uint8Array, fileName: string | undefined): boolean {
  if (hasMpegFrames(bytes, 3, mpegSearchBytesMax)) return true;
  // A single frame could be random bytes, so the file's name decides.
  return mpegFrameAt(bytes, 0) !== undefined && /\.(mp3|mpga|mpeg)$/i.test(fileName ?? '');
}

/** Reads headers of MPEG audio frames (layers I to III), and distinguishes them from random bytes. */

/** Kilobits per second by bitrate index 1 to 14: of the layers of MPEG 1, then of layer I and the others of MPEG 2 and 2.5. */
const bitrates = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const;

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
  const isHeader = sync === 0xff && (flags & 0xe0) === 0xe0 && version !== 1 && layer !== 4;
  const isMpeg1 = version === 3;
  const sampleRate = mpeg1SampleRates[(rates >> 2) & 3];
  // A frame with a free bitrate does not state its length. Such frames are so rare that they are ignored.
  const kilobits = bitrates[isMpeg1 ? layer - 1 : layer === 1 ? 3 : 4]?.[(rates >> 4) - 1];
  if (!isHeader || sampleRate === undefined || kilobits === undefined) return undefined;
  const divider = isMpeg1 ? 1 : version === 2 ? 2 : 4;
  const slotBytes = layer === 1 ? 4 : 1;
  const samples = layer === 1 ? 384 : layer === 3 && !isMpeg1 ? 576 : 1152;
  const slots = Math.floor(((samples / 8 / slotBytes) * kilobits * 1000 * divider) / sampleRate);
  return (slots + ((rates >> 1) & 1)) * slotBytes;
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
  const known = signatures.find(({ mark, at = 0 }) => textAt(bytes, at, mark.length) === mark);
  if (known !== undefined) return known.name;
  if (isAdts(bytes)) return 'raw AAC (ADTS) audio';
  if (isAc3(bytes)) return 'raw AC-3 audio';
  return isTransportStream(bytes) ? 'an MPEG transport stream' : undefined;
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
  return textAt(bytes, 0, 2) === '\x0b\x77' && (bytes[5] ?? 0xff) >> 3 <= 16;
}

const transportPacketBytes = 188;

function isTransportStream(bytes: Uint8Array): boolean {
  return [0, 1, 2].every((packet) => bytes[packet * transportPacketBytes] === 0x47);
}
