/**
 * Detects which of the ten supported formats a file has. The content decides; the name only helps if the first bytes
 * fit several formats. Every search is bounded, whatever lengths the file states.
 */
import { ParleyError } from '../../core/values/errors.ts';
import { hasMpegFrames, mpegFrameAt } from './file-format-mpeg.ts';
import { nameOfOtherFormat } from './file-format-other.ts';

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
