import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../../src/core/values/errors.ts';
import { detectContainer, type MediaContainer } from '../../../src/media/formats/file-format.ts';

const bytes = (...parts: readonly (string | readonly number[])[]): Uint8Array =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  );
const padding = (count: number): readonly number[] => new Array<number>(count).fill(0);

/** MPEG 1 layer III, 128 kbit/s, 44.1 kHz: 417 bytes per frame. */
const mp3Frame = bytes([0xff, 0xfb, 0x90, 0x00], padding(413));
const mp3Frames = Buffer.concat([mp3Frame, mp3Frame, mp3Frame, mp3Frame]);
/** A tag of 10 bytes after its 10-byte head. */
const id3Tag = bytes('ID3', [4, 0, 0, 0, 0, 0, 10], padding(10));
const ftyp = (...brands: readonly string[]): Uint8Array =>
  bytes(
    [0, 0, 0, 12 + 4 * brands.length],
    'ftyp',
    brands[0] ?? '',
    padding(4),
    ...brands.slice(1),
    padding(64),
  );
const ebml = (docType: string): Uint8Array =>
  bytes(
    [0x1a, 0x45, 0xdf, 0xa3, 0x9f, 0x42, 0x86, 0x81, 1, 0x42, 0x82, 0x80 | docType.length],
    docType,
    padding(64),
  );

const codeOf = (content: Uint8Array, fileName?: string): unknown => {
  try {
    return detectContainer(content, fileName);
  } catch (error) {
    expect(error).toBeInstanceOf(ParleyError);
    return error instanceof ParleyError ? [error.code, error.param] : error;
  }
};

describe('the format of a file', () => {
  const known: readonly [string, Uint8Array, MediaContainer][] = [
    ['FLAC', bytes('fLaC', padding(40)), 'flac'],
    ['FLAC behind an ID3 tag', Buffer.concat([id3Tag, bytes('fLaC', padding(40))]), 'flac'],
    ['MP3 frames', mp3Frames, 'mp3'],
    ['MP3 behind an ID3 tag', Buffer.concat([id3Tag, mp3Frames]), 'mp3'],
    [
      'MP3 behind two ID3 tags and padding',
      Buffer.concat([id3Tag, id3Tag, Buffer.alloc(99), mp3Frames]),
      'mp3',
    ],
    ['MP3 frames behind padding', Buffer.concat([Buffer.alloc(1000), mp3Frames]), 'mp3'],
    ['MP4 of the brand M4A', ftyp('M4A ', 'isom'), 'mp4'],
    ['MP4 of the brand isom', ftyp('isom', 'iso2'), 'mp4'],
    ['MP4 by a compatible brand', ftyp('3gp4', 'isom'), 'mp4'],
    ['an MPEG program stream', bytes([0, 0, 1, 0xba], padding(40)), 'mpeg'],
    ['Ogg', bytes('OggS', padding(40)), 'ogg'],
    ['WAV', bytes('RIFF', padding(4), 'WAVEfmt '), 'wav'],
    ['WAV of over 4 GB', bytes('RF64', padding(4), 'WAVEfmt '), 'wav'],
    ['WebM', ebml('webm'), 'webm'],
  ];
  it.each(known)('%s is detected by its content, under any name', (_, content, container) => {
    expect(detectContainer(content, undefined)).toBe(container);
    expect(detectContainer(content, 'notes.txt')).toBe(container);
    expect(detectContainer(content, 'song.wav')).toBe(container);
  });

  const others: readonly [string, Uint8Array][] = [
    ['AIFF', bytes('FORM', padding(4), 'AIFF')],
    ['AMR', bytes('#!AMR\n', padding(40))],
    [
      'raw AAC',
      bytes([0xff, 0xf1, 0x50, 0x80, 0x01, 0x1f, 0xfc], [0], [0xff, 0xf1, 0x50, 0x80, 0x01, 0x1f, 0xfc]),
    ],
    [
      'raw AAC behind two ID3 tags and padding',
      Buffer.concat([id3Tag, id3Tag, Buffer.alloc(9), bytes([0xff, 0xf1, 0x50, 0x80, 0x01, 0x1f, 0xfc])]),
    ],
    ['raw AC-3', bytes([0x0b, 0x77, 0x5b, 0x91, 0x14, 0x40, 0x43], padding(40))],
    ['raw E-AC-3', bytes([0x0b, 0x77, 0x01, 0x7f, 0x35, 0x86, 0xff], padding(40))],
    ['MIDI', bytes('MThd', padding(40))],
    ['AVI', bytes('RIFF', padding(4), 'AVI LIST')],
    ['PNG', bytes([0x89], 'PNG\r\n', [0x1a], '\n')],
    ['ZIP', bytes('PK', [3, 4], padding(40))],
    ['PDF', bytes('%PDF-1.7')],
    ['QuickTime', ftyp('qt  ')],
    ['HEIF', ftyp('heic', 'mif1')],
    ['Matroska that is not WebM', ebml('matroska')],
    ['a ZIP archive behind an ID3 tag', Buffer.concat([id3Tag, bytes('PK', [3, 4], padding(40))])],
    ['an MPEG transport stream', bytes([0x47], padding(187), [0x47], padding(187), [0x47], padding(187))],
  ];
  it.each(others)('%s is refused as unsupported, also under a supported name', (_, content) => {
    expect(codeOf(content)).toEqual(['unsupported_file_format', 'file']);
    expect(codeOf(content, 'song.mp3')).toEqual(['unsupported_file_format', 'file']);
  });

  it('names the sent format and the supported ones', () => {
    expect(() => detectContainer(bytes('%PDF-1.7'), 'a.mp3')).toThrow(
      /a PDF document.*flac, m4a, mp3, mp4, mpeg, mpga/,
    );
  });

  const unknown: readonly [string, Uint8Array][] = [
    ['an empty file', new Uint8Array(0)],
    ['one byte', bytes('R')],
    ['text', bytes('This is not audio.\n')],
    ['RIFF without more', bytes('RIFF')],
    ['bytes that all look like the start of an MPEG frame', new Uint8Array(4 * 1024 * 1024).fill(0xff)],
  ];
  it.each(unknown)('%s is an invalid file, also under a supported name', (_, content) => {
    expect(codeOf(content)).toEqual(['invalid_file', 'file']);
    expect(codeOf(content, 'song.mp3')).toEqual(['invalid_file', 'file']);
  });

  it('depends on the name if the file states no brand: MP4 or QuickTime', () => {
    const unbranded = bytes([0, 0, 0, 8], 'wide', [0, 0, 1, 0], 'mdat', padding(40));
    expect(detectContainer(unbranded, 'voice.M4A')).toBe('mp4');
    expect(codeOf(unbranded, 'voice.mov')).toEqual(['unsupported_file_format', 'file']);
    expect(codeOf(unbranded)).toEqual(['unsupported_file_format', 'file']);
  });

  it('accepts a single MPEG frame as audio only under the name of an MPEG file', () => {
    expect(detectContainer(mp3Frame, 'beep.mp3')).toBe('mp3');
    expect(codeOf(mp3Frame)).toEqual(['invalid_file', 'file']);
  });
});
