import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type AudioFormat, audioFormats, contentType } from '../../../src/core/entities/engine.ts';
import { createEncoderPool } from '../../../src/media/encoding/encode.ts';
import { decode, toSamples } from '../ffmpeg.ts';
import { correlation, inChunks, lagOf, loudness, noise, signalToErrorDb, speechLike } from '../signals.ts';

const rates = [8000, 16_000, 22_050, 24_000, 44_100, 48_000];
const seconds = 3.01;
/** Samples that MP3 decoders play before the first one: LAME's delay of 576 and the decoder's of 529. */
const mp3DelaySamples = 576 + 529;
const mp3FrameSamplesMax = 1152;

const pool = createEncoderPool({ threads: 2 });
afterAll(() => pool.close());

async function encode(
  format: AudioFormat,
  sampleRate: number,
  samples: Int16Array,
  chunkLengths: readonly number[] = [1, 997, 13, 4801],
): Promise<Uint8Array> {
  const source = { sampleRate, samples: inChunks(samples, chunkLengths) };
  const pieces: Uint8Array[] = [];
  for await (const piece of pool.encode(format, source, new AbortController().signal)) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe.each(rates)('speech at %i Hz', (rate) => {
  const speech = speechLike(rate, seconds);
  const lagMax = Math.round(rate * 0.02);
  const lastSamples = Math.round(rate * 0.05);
  const lagMs = (decoded: Int16Array) => (lagOf(decoded, speech, rate, lagMax) / rate) * 1000;

  it('comes back from flac and wav sample for sample', async () => {
    for (const samples of [speech, noise(rate, seconds)]) {
      expect(await decode(await encode('flac', rate, samples), rate)).toEqual(samples);
      expect(await decode(await encode('wav', rate, samples), rate)).toEqual(samples);
    }
  });

  it('is 16-bit mono at 24 kHz as pcm, with the exact length and start', async () => {
    const decoded = toSamples(await encode('pcm', rate, speech));
    const expected = speechLike(24_000, seconds);
    expect(decoded.length).toBe(Math.round((speech.length * 24_000) / rate));
    expect(lagOf(decoded, expected, 24_000, 480)).toBe(0);
    // The signal's syllables have hard edges, which differ between sample rates.
    expect(signalToErrorDb(expected, decoded)).toBeGreaterThan(30);
  });

  it('loses nothing at either end of opus, and its length is exact', async () => {
    const file = await encode('opus', rate, speech);
    const granules =
      rate === 22_050 ? Math.round((speech.length * 24_000) / rate) * 2 : (speech.length * 48_000) / rate;
    expect((await decode(file, 48_000)).length).toBe(Math.round(granules));

    const decoded = await decode(file, rate);
    expect(Math.abs(decoded.length - speech.length)).toBeLessThanOrEqual(1);
    expect(Math.abs(lagMs(decoded))).toBeLessThan(1);
    expect(correlation(decoded, speech)).toBeGreaterThan(0.65);
    expect(correlation(loudness(decoded, rate), loudness(speech, rate))).toBeGreaterThan(0.94);
    expect(correlation(decoded.subarray(-lastSamples), speech.subarray(-lastSamples))).toBeGreaterThan(0.8);
  });

  it('loses nothing at either end of mp3, behind the delay of the codec', async () => {
    const file = await encode('mp3', rate, speech);
    const decoded = await decode(file, rate);
    const surplus = decoded.length - speech.length - mp3DelaySamples;
    expect(surplus).toBeGreaterThanOrEqual(0);
    expect(surplus).toBeLessThanOrEqual(2 * mp3FrameSamplesMax);

    const aligned = decoded.subarray(mp3DelaySamples, mp3DelaySamples + speech.length);
    expect(Math.abs(lagMs(aligned))).toBeLessThan(1);
    expect(correlation(aligned, speech)).toBeGreaterThan(0.99);
    expect(correlation(aligned.subarray(-lastSamples), speech.subarray(-lastSamples))).toBeGreaterThan(0.99);
    expect(file.length).toBeLessThan(8000 * (seconds + 0.6)); // 64 kbit/s
  });

  it('keeps noise recognisable in mp3 and opus', async () => {
    const samples = noise(rate, seconds);
    const mp3 = await decode(await encode('mp3', rate, samples), rate);
    expect(correlation(mp3.subarray(mp3DelaySamples), samples)).toBeGreaterThan(0.95);
    const opus = await decode(await encode('opus', rate, samples), rate);
    expect(correlation(opus, samples)).toBeGreaterThan(0.5);
  });
});

describe('a file', () => {
  it.each(audioFormats)('is the same %s byte for byte for any chunk lengths', async (format) => {
    const speech = speechLike(22_050, 1);
    const whole = await encode(format, 22_050, speech, [speech.length]);
    for (const lengths of [[1], [997], [4096, 1, 0, 440]]) {
      expect(Buffer.compare(await encode(format, 22_050, speech, lengths), whole)).toBe(0);
    }
  });

  it.each(audioFormats)('is a valid %s without audio if the source has none', async (format) => {
    for (const rate of rates) {
      const file = await encode(format, rate, new Int16Array(0));
      if (format === 'pcm') expect(file.length).toBe(0);
      // Codecs work in frames: Opus may keep a part of a frame, MP3 always has some.
      else
        expect((await decode(file, rate)).length).toBeLessThanOrEqual(
          format === 'mp3' ? 0.5 * rate : 0.02 * rate,
        );
    }
  });

  it.each(['flac', 'wav', 'opus'] as const)(
    'of a few samples contains exactly those as %s',
    async (format) => {
      for (const length of [1, 324, 325, 480, 2401, 4800]) {
        const samples = speechLike(24_000, length / 24_000);
        const decodedRate = format === 'opus' ? 48_000 : 24_000;
        const decoded = await decode(await encode(format, 24_000, samples), decodedRate);
        expect(decoded.length).toBe((length * decodedRate) / 24_000);
      }
    },
  );

  it('has a Content-Type', () => {
    expect(audioFormats.map(contentType)).toEqual([
      'audio/mpeg',
      'audio/ogg',
      'audio/flac',
      'audio/wav',
      'audio/pcm',
    ]);
  });
});

describe('a saved wav of a stream', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-wav-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'speech.wav');
  const speech = speechLike(16_000, 1);

  const isInstalled = (program: string) => {
    try {
      execFileSync(program, ['--version'], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  };

  const printSamples = `
import sys, wave
with wave.open(sys.argv[1]) as file:
    sys.stdout.buffer.write(file.readframes(file.getnframes()))`;

  it.for([
    ['sox', [file, '-t', 'raw', '-']],
    ['python3', ['-c', printSamples, file]],
  ] as const)('is read to its end by %s', async ([program, args], { skip }) => {
    skip(!isInstalled(program), `${program} is not installed`);
    writeFileSync(file, await encode('wav', 16_000, speech));
    const decoded = execFileSync(program, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    expect(toSamples(decoded)).toEqual(speech);
  });
});
