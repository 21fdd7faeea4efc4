import { beforeAll, describe, expect, it } from 'vitest';
import { Decoder } from '../../../src/media/decoding/decoder.ts';
import { detectContainer } from '../../../src/media/formats/file-format.ts';
import { missingHearing } from '../../../src/media/hearing-files.ts';
import { hearingModule } from '../../../src/media/wasm-instance.ts';
import {
  decodeByHand,
  encode,
  generate,
  missingPrograms,
  wavFile,
  wavHeader,
} from '../../support/audio-files.ts';

const missing = missingHearing() ?? missingPrograms('ffmpeg');
if (missing !== undefined) process.stderr.write(`decoder.test.ts is skipped: ${missing}\n`);

/** Video of 320 by 240, for files that have video besides the audio. */
const testPicture = ['-f', 'lavfi', '-i', 'testsrc=size=320x240:rate=25'];

const toneHz = 440;

/** A tone, so that decoded samples differ from silence. */
function tone(seconds: number): Int16Array {
  return Int16Array.from(
    { length: seconds * 16_000 },
    (_, at) => 8000 * Math.sin((2 * Math.PI * toneHz * at) / 16_000),
  );
}

/** How often the samples rise above 0. */
function risesOf(samples: readonly number[]): number {
  return samples.filter((sample, at) => sample > 0 && (samples[at - 1] ?? sample) <= 0).length;
}

describe.skipIf(missing !== undefined)('decoding', () => {
  let module: WebAssembly.Module;
  beforeAll(async () => {
    module = await hearingModule('decoder');
  });

  const open = (file: Uint8Array, fileName?: string): Decoder =>
    new Decoder(module, { bytes: new Uint8Array(file), container: detectContainer(file, fileName) });

  const samplesOf = (file: Uint8Array): number[] => [...open(file).blocks()].flatMap((block) => [...block]);

  const packings: readonly [string, string, readonly string[]][] = [
    ['WAV of 8 kHz mono', 'wav', ['-ar', '8000']],
    ['WAV of 44.1 kHz stereo', 'wav', ['-ar', '44100', '-ac', '2']],
    ['WAV of 24 bits, 48 kHz stereo', 'wav', ['-c:a', 'pcm_s24le', '-ar', '48000', '-ac', '2']],
    ['WAV of floating point, 44.1 kHz', 'wav', ['-c:a', 'pcm_f32le', '-ar', '44100']],
    ['FLAC of 5.1 channels', 'flac', ['-ac', '6']],
    ['FLAC of 24 bits, 48 kHz stereo', 'flac', ['-sample_fmt', 's32', '-ar', '48000', '-ac', '2']],
    ['AAC in m4a, its index at the end', 'm4a', ['-c:a', 'aac']],
    ['AAC in mp4, its index at the start', 'mp4', ['-c:a', 'aac', '-movflags', '+faststart', '-ar', '44100']],
    [
      'MP3 behind an ID3 tag',
      'mp3',
      ['-c:a', 'libmp3lame', '-id3v2_version', '3', '-metadata', 'title=Rain'],
    ],
    [
      'MP3 without any tag',
      'mp3',
      ['-c:a', 'libmp3lame', '-write_xing', '0', '-id3v2_version', '0', '-ar', '22050'],
    ],
    ['MPEG audio of layer II (mpga)', 'mpga', ['-c:a', 'mp2', '-ar', '44100', '-f', 'mp2']],
    ['an MPEG program stream', 'mpeg', ['-c:a', 'mp2', '-ar', '48000', '-f', 'mpeg']],
    ...(['mpeg1video', 'mpeg2video'] as const).flatMap((video) =>
      ['mp2', 'libmp3lame', 'ac3'].map((audio): [string, string, string[]] => [
        `an MPEG program stream of ${video} and ${audio}`,
        'mpeg',
        [...testPicture, '-shortest', '-c:v', video, '-c:a', audio, '-ar', '48000', '-f', 'vob'],
      ]),
    ),
    ['Vorbis in Ogg (oga)', 'oga', ['-c:a', 'libvorbis']],
    ['Speex in Ogg', 'ogg', ['-c:a', 'libspeex', '-ar', '16000']],
    ['Opus in Ogg', 'ogg', ['-c:a', 'libopus', '-ac', '2']],
    ['FLAC in Ogg', 'ogg', ['-c:a', 'flac']],
    ['Opus in WebM', 'webm', ['-c:a', 'libopus']],
  ];
  it.each(packings)('gives 16 kHz mono samples of %s', async (_, extension, args) => {
    const samples = samplesOf(await encode(tone(2), extension, ...args));
    expect(samples.length / 16_000).toBeCloseTo(2, 0);
    expect(samples.reduce((most, sample) => Math.max(most, Math.abs(sample)))).toBeGreaterThan(2000);
    expect(risesOf(samples.slice(8_000, 24_000)) / toneHz).toBeCloseTo(1, 1);
  });

  it('gives the samples of a 16 kHz mono file unchanged', () => {
    const samples = tone(1);
    expect(samplesOf(wavFile(samples))).toEqual([...samples]);
  });

  it('knows the stated duration', async () => {
    const statedMs = open(await encode(tone(3), 'ogg')).statedMs() ?? 0;
    expect(Math.abs(statedMs - 3000)).toBeLessThan(100);
  });

  it('decodes the first of several audio streams, and no picture', async () => {
    const inputs = [
      '-f',
      'lavfi',
      '-i',
      'testsrc=d=2:s=64x64:r=5',
      '-f',
      'lavfi',
      '-i',
      'sine=d=2',
      '-f',
      'lavfi',
    ];
    const maps = ['-i', 'anullsrc=d=1', '-map', '0:v', '-map', '1:a', '-map', '2:a', '-shortest', '-t', '2'];
    const file = await generate('mp4', ...inputs, ...maps);
    expect(samplesOf(file).some((sample) => sample !== 0)).toBe(true);
  });

  it('gives the readable part of a truncated file', async () => {
    const file = await encode(tone(4), 'mp3');
    const seconds = samplesOf(file.subarray(0, file.length / 2)).length / 16_000;
    expect(seconds).toBeGreaterThan(1.5);
    expect(seconds).toBeLessThan(2.5);
  });

  it('refuses a file without an audio stream', async () => {
    const silent = await generate('mp4', '-f', 'lavfi', '-i', 'testsrc=d=1:s=64x64:r=5');
    const decoder = open(silent);
    expect([...decoder.blocks()]).toEqual([]);
    expect(decoder.failure).toMatch(/refuses the file/);
  });

  const claims = { channels: 1, sampleRate: 16_000, bitsPerSample: 16, dataBytes: 32_000 };
  const absurd: readonly [string, Buffer][] = [
    ['65,535 channels', wavHeader({ ...claims, channels: 65_535 })],
    ['4 GHz', wavHeader({ ...claims, sampleRate: 2 ** 32 - 1 })],
    ['no bits', wavHeader({ ...claims, bitsPerSample: 0 })],
    ['2^31 samples, and none there', wavHeader({ ...claims, dataBytes: 2 ** 32 - 2 })],
  ];
  it.each(absurd)('finds no audio behind a WAV header of %s', (_, header) => {
    const data = header.readUInt32LE(40) === 32_000 ? Buffer.alloc(32_000, 1) : Buffer.alloc(0);
    expect(samplesOf(Buffer.concat([header, data]))).toEqual([]);
  });

  it('gives the same samples as ffmpeg', async () => {
    const file = await encode(tone(5), 'mp3', '-ar', '44100', '-ac', '2');
    const [own, byHand] = [samplesOf(file), await decodeByHand(file)];
    expect(Math.abs(own.length - byHand.length)).toBeLessThan(2);
    const apart = own.filter((sample, at) => Math.abs(sample - (byHand[at] ?? sample)) > 1);
    expect(apart).toEqual([]);
  });
});
