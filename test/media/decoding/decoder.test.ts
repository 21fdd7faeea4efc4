import { beforeAll, describe, expect, it } from 'vitest';
import { Decoder } from '../../../src/media/decoding/decoder.ts';
import { detectContainer } from '../../../src/media/formats/file-format.ts';
import { missingHearing } from '../../../src/media/hearing-files.ts';
import { hearingModule } from '../../../src/media/hearing-modules.ts';
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

/** A tone, so that decoded samples differ from silence. */
function tone(seconds: number): Int16Array {
  return Int16Array.from(
    { length: seconds * 16_000 },
    (_, at) => 8000 * Math.sin((2 * Math.PI * 440 * at) / 16_000),
  );
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
    ['8 kHz mono', 'wav', ['-ar', '8000']],
    ['44.1 kHz stereo', 'wav', ['-ar', '44100', '-ac', '2']],
    ['24 bit at 48 kHz', 'wav', ['-ar', '48000', '-c:a', 'pcm_s24le']],
    ['floating point', 'wav', ['-c:a', 'pcm_f32le']],
    ['5.1 channels', 'flac', ['-ac', '6']],
    ['AAC with its index at the end', 'm4a', ['-c:a', 'aac']],
  ];
  it.each(packings)('gives 16 kHz mono samples of %s', async (_, extension, args) => {
    const file = await encode(tone(2), extension, ...args);
    const samples = samplesOf(file);
    expect(samples.length / 16_000).toBeCloseTo(2, 0);
    expect(samples.reduce((most, sample) => Math.max(most, Math.abs(sample)))).toBeGreaterThan(2000);
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
