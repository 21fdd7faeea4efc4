/** Recordings of every container, some of which state another length than they have. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { encode, wavFile, wavHeader } from './audio-files.ts';

const run = promisify(execFile);

const rate = 16_000;
export const tone = (seconds: number) =>
  Int16Array.from({ length: seconds * rate }, (_, at) => 8000 * Math.sin(at / 9));
const pack = (seconds: number, extension: string, ...args: string[]) =>
  encode(tone(seconds), extension, ...args);

/** The file's name, and how to make it. */
type Recording = readonly [name: string, make: () => Promise<Buffer>];

const opus = ['-c:a', 'libopus'];
const vorbis = ['-c:a', 'libvorbis'];
const mp3 = ['-c:a', 'libmp3lame'];

export const lyingFiles: readonly Recording[] = [
  ['plain.wav', () => pack(6, 'wav')],
  ['adpcm.wav', () => pack(6, 'wav', '-c:a', 'adpcm_ms')],
  ['gsm.wav', () => pack(60, 'wav', '-ar', '8000', '-c:a', 'libgsm_ms')],
  ['mp3-in-wav.wav', () => pack(6, 'wav', ...mp3)],
  ['big-endian.wav', async () => bigEndian(tone(6))],
  ['states-no-bytes.wav', async () => statesBytes(0)],
  ['states-2-GB.wav', async () => statesBytes(2 ** 31 - 1)],
  ['states-4-GB.wav', async () => statesBytes(2 ** 32 - 1)],
  ['plain.flac', () => pack(6, 'flac')],
  ['without-length.flac', () => pack(6, 'flac', '-seekable', '0')],
  ['plain.mp3', () => pack(6, 'mp3', ...mp3)],
  ['variable-rate-without-tag.mp3', () => pack(6, 'mp3', ...mp3, '-q:a', '4', '-write_xing', '0')],
  ['of-30-ms.mp3', () => encode(tone(1).subarray(0, 480), 'mp3', '-ar', '44100', ...mp3)],
  ['plain.mpga', () => pack(6, 'mpga', '-c:a', 'mp2', '-f', 'mp2')],
  ['plain.mpeg', () => pack(6, 'mpeg', '-c:a', 'mp2', '-ar', '48000', '-f', 'mpeg')],
  ['plain.m4a', () => pack(6, 'm4a', '-c:a', 'aac')],
  ['fragments.mp4', fragments],
  ['fragments-of-unknown-duration.mp4', async () => unknownDurations(await fragments())],
  ['plain.webm', () => pack(6, 'webm', ...opus)],
  ['recorded-live.webm', () => pack(6, 'webm', ...opus, '-live', '1')],
  ['of-2.9-s-states-8.9-s.webm', async () => statesMs(await pack(2.9, 'webm', ...opus), 8_900)],
  ['of-2.9-s-states-2952-s.webm', async () => statesMs(await pack(2.9, 'webm', ...vorbis), 2_952_000)],
  ['opus.ogg', () => pack(6, 'ogg', ...opus)],
  ['flac.oga', () => pack(6, 'oga', '-c:a', 'flac')],
  ['of-60-s.ogg', () => pack(60, 'ogg', ...vorbis)],
  ['ten-links.ogg', async () => chain(await pack(2.94, 'ogg', ...vorbis))],
  ['ten-links-of-opus.ogg', async () => chain(await pack(2.94, 'ogg', ...opus))],
  ['ends-before-its-last-packet.ogg', async () => trimmed(await pack(6, 'ogg', ...vorbis), 1_500)],
  [
    'speex-ends-before-its-last-packet.ogg',
    async () => trimmed(await pack(6, 'ogg', '-c:a', 'libspeex'), 700),
  ],
];

/** Seconds of audio that ffprobe decodes. */
export function secondsByFfprobe(file: Uint8Array): Promise<number> {
  return inFolder(async (folder) => {
    const path = join(folder, 'file');
    await writeFile(path, file);
    const args = [
      '-v',
      'error',
      '-select_streams',
      'a:0',
      '-show_entries',
      'stream=sample_rate:frame=nb_samples',
      '-of',
      'csv=p=1',
      path,
    ];
    const { stdout } = await run('ffprobe', args);
    const rows = stdout.split('\n').map((line) => line.split(','));
    const sumOf = (kind: string) =>
      rows.reduce((sum, [name, value]) => sum + (name === kind ? Number(value) : 0), 0);
    return sumOf('frame') / sumOf('stream');
  });
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-lying-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function bigEndian(samples: Int16Array): Buffer {
  const file = wavFile(samples);
  file.write('RIFX', 0, 'latin1');
  for (const at of [4, 16, 24, 28, 40]) file.subarray(at, at + 4).swap32();
  for (const at of [20, 22, 32, 34]) file.subarray(at, at + 2).swap16();
  file.subarray(44).swap16();
  return file;
}

function statesBytes(dataBytes: number): Buffer {
  const claims = { channels: 1, sampleRate: rate, bitsPerSample: 16, dataBytes };
  return Buffer.concat([wavHeader(claims), wavFile(tone(6)).subarray(44)]);
}

function fragments(): Promise<Buffer> {
  return pack(6, 'mp4', '-c:a', 'aac', '-movflags', 'frag_keyframe+empty_moov');
}

/** All ones, which ISO/IEC 14496-12 (8.2.2, 8.4.2) gives to a duration that is not known. */
function unknownDurations(mp4: Buffer): Buffer {
  for (const [box, offset] of [
    ['mvhd', 16],
    ['mdhd', 16],
    ['tkhd', 20],
  ] as const) {
    const at = mp4.indexOf(box) + 4 + offset;
    mp4.fill(0xff, at, at + 4);
  }
  return mp4;
}

/** Writes the Duration of a WebM, an element of eight bytes. */
function statesMs(webm: Buffer, durationMs: number): Buffer {
  const at = webm.indexOf(Buffer.from([0x44, 0x89, 0x88]));
  webm.writeDoubleBE(durationMs, at + 3);
  return webm;
}

function chain(ogg: Buffer): Buffer {
  return Buffer.concat(new Array<Buffer>(10).fill(ogg));
}

/** Lets the last page state so many samples less than its packets have. */
function trimmed(ogg: Buffer, samples: number): Buffer {
  const page = ogg.subarray(ogg.lastIndexOf('OggS'));
  page.writeBigInt64LE(page.readBigInt64LE(6) - BigInt(samples), 6);
  page.writeUInt32LE(0, 22);
  page.writeUInt32LE(oggChecksum(page), 22);
  return ogg;
}

function oggChecksum(page: Uint8Array): number {
  let sum = 0;
  for (const byte of page) {
    sum ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) sum = sum < 0 ? (sum << 1) ^ 0x04c11db7 : sum << 1;
  }
  return sum >>> 0;
}
