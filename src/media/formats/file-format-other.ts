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
export function nameOfOtherFormat(bytes: Uint8Array): string | undefined {
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
