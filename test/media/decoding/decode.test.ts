import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeToPcm, findDecodeTools } from '../../../src/media/decoding/decode.ts';
import { detectContainer } from '../../../src/media/probing/file-format.ts';
import {
  encode,
  generate,
  missingPrograms,
  runningPrograms,
  wavFile,
  wavHeader,
} from '../../support/audio-files.ts';

const missing = missingPrograms('ffmpeg', 'ps');
if (missing !== undefined) process.stderr.write(`decode.test.ts is skipped: ${missing}\n`);

/** A tone, so that a decoded sample can be told from nothing. */
function tone(seconds: number): Int16Array {
  return Int16Array.from(
    { length: seconds * 16_000 },
    (_, at) => 8000 * Math.sin((2 * Math.PI * 440 * at) / 16_000),
  );
}

describe.skipIf(missing !== undefined)('decoding', () => {
  let folder = '';
  let hours: Buffer = Buffer.alloc(0);
  beforeAll(async () => {
    hours = await generate('flac', '-f', 'lavfi', '-i', 'anullsrc=r=16000:cl=mono', '-t', '7200');
    folder = await mkdtemp(join(tmpdir(), 'parley-decode-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  async function* decode(
    file: Uint8Array,
    signal = new AbortController().signal,
    onStatedDuration: (durationMs: number) => void = () => {},
  ): AsyncGenerator<Int16Array, void, void> {
    const tools = findDecodeTools();
    if (tools === undefined) throw new Error('ffmpeg is not installed');
    const path = join(folder, 'input');
    await writeFile(path, file);
    yield* decodeToPcm(path, {
      tools,
      container: detectContainer(file, undefined),
      signal,
      onStatedDuration,
    });
  }

  async function countSamples(blocks: AsyncIterable<Int16Array>): Promise<number> {
    let count = 0;
    for await (const block of blocks) count += block.length;
    return count;
  }

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
    let peak = 0;
    let count = 0;
    for await (const block of decode(file)) {
      count += block.length;
      peak = block.reduce((most, sample) => Math.max(most, Math.abs(sample)), peak);
    }
    expect(count / 16_000).toBeCloseTo(2, 0);
    expect(peak).toBeGreaterThan(2000);
  });

  it('gives the samples of a 16 kHz mono file unchanged', async () => {
    const samples = tone(1);
    const decoded: number[] = [];
    for await (const block of decode(wavFile(samples))) decoded.push(...block);
    expect(decoded).toEqual([...samples]);
  });

  it('reports the stated duration once', async () => {
    const told: number[] = [];
    await countSamples(
      decode(await encode(tone(3), 'ogg'), undefined, (durationMs) => told.push(durationMs)),
    );
    expect(told).toHaveLength(1);
    expect(told[0]).toBeGreaterThan(2900);
    expect(told[0]).toBeLessThan(3100);
  });

  it('takes the first of several audio streams, and no picture', async () => {
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
    let energy = 0;
    for await (const block of decode(file))
      energy += block.reduce((sum, sample) => sum + Math.abs(sample), 0);
    expect(energy).toBeGreaterThan(0);
  });

  it('gives the readable part of a truncated file', async () => {
    const file = await encode(tone(4), 'mp3');
    const count = await countSamples(decode(file.subarray(0, file.length / 2)));
    expect(count / 16_000).toBeGreaterThan(1.5);
    expect(count / 16_000).toBeLessThan(2.5);
  });

  it('refuses a file without an audio stream', async () => {
    const silent = await generate('mp4', '-f', 'lavfi', '-i', 'testsrc=d=1:s=64x64:r=5');
    await expect(countSamples(decode(silent))).rejects.toMatchObject({ code: 'invalid_file', param: 'file' });
  });

  const claims = { channels: 1, sampleRate: 16_000, bitsPerSample: 16, dataBytes: 32_000 };
  const absurd: readonly [string, Buffer][] = [
    ['65,535 channels', wavHeader({ ...claims, channels: 65_535 })],
    ['4 GHz', wavHeader({ ...claims, sampleRate: 2 ** 32 - 1 })],
    ['no bits', wavHeader({ ...claims, bitsPerSample: 0 })],
    ['2^31 samples, and none there', wavHeader({ ...claims, dataBytes: 2 ** 32 - 2 })],
  ];
  it.each(absurd)('refuses a WAV header of %s', async (_, header) => {
    const data = header.readUInt32LE(40) === 32_000 ? Buffer.alloc(32_000, 1) : Buffer.alloc(0);
    await expect(countSamples(decode(Buffer.concat([header, data])))).rejects.toMatchObject({
      code: 'invalid_file',
    });
  });

  it('waits for a slow reader and ends with a reader that leaves', async () => {
    for await (const block of decode(hours)) {
      expect(block.length).toBeGreaterThan(0);
      const [pid] = runningPrograms('ffmpeg');
      expect(pid).toBeDefined();
      // Two hours take about a second to decode; the full pipe keeps the child waiting.
      await delay(2000);
      expect(runningPrograms('ffmpeg')).toEqual([pid]);
      break;
    }
    expect(runningPrograms('ffmpeg')).toEqual([]);
  });

  it('ends at once with the reason when its signal aborts', async () => {
    const stop = new AbortController();
    const reason = new Error('gone');
    const reading = (async () => {
      for await (const _ of decode(hours, stop.signal)) stop.abort(reason);
    })();
    await expect(reading).rejects.toBe(reason);
    expect(runningPrograms('ffmpeg')).toEqual([]);
  });
});
