/**
 * Hostile recordings: ten thousand with random faults, and some that are built to be costly. The server continues, and
 * so do other recordings.
 */
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { detectContainer } from '../../src/media/formats/file-format.ts';
import { missingHearing } from '../../src/media/hearing-files.ts';
import { createDurationProbe } from '../../src/media/probing/probe.ts';
import { generate, missingPrograms, wavFile, wavHeader } from '../support/audio-files.ts';
import { mutated, openPools, outcomeOf, type Recording, recordings } from '../support/mutations.ts';
import { Random } from '../support/random.ts';

const unheard = missingHearing();
const missing = unheard ?? missingPrograms('ffmpeg');
if (missing !== undefined)
  process.stderr.write(`hostile-recordings.test.ts is skipped in part: ${missing}\n`);

const probe = createDurationProbe();
const pools = openPools();
afterAll(() => Promise.all([probe.close(), pools.close()]));

const megabytes = 1024 ** 2;
const hourOfSamples = 3600 * 16_000;
const good = wavFile(new Int16Array(16_000 * 6));
const largest = 4_000_000;
const frames = Buffer.from('ffe318c4'.padEnd(144, '0').repeat(3), 'hex');
const ftyp = Buffer.from('000000186674797069736f6d0000020069736f6d6d703432', 'hex');
const webm = Buffer.from(
  '1a45dfa39f4286810142f7810142f2810442f381084282847765626d42878104428581021853806701ffffffffffffff',
  'hex',
);

/** `start`, then `unit` repeatedly up to the largest size, both in hexadecimal. */
const repeated = (unit: string, start = Buffer.alloc(0)) =>
  Buffer.concat([start, Buffer.from(unit.repeat((2 * largest) / unit.length), 'hex')]);

/** A WAV header with false claims before a second of sound. */
const claiming = (claims: Partial<Parameters<typeof wavHeader>[0]>) => {
  const plain = { channels: 1, sampleRate: 16_000, bitsPerSample: 16, dataBytes: 2 ** 32 - 1 };
  return Buffer.concat([wavHeader({ ...plain, ...claims }), Buffer.alloc(32_000, 5)]);
};

const hostile: readonly [string, Uint8Array][] = [
  ['MP3 of nothing but sync bytes', repeated('ff', frames)],
  ['MP3 of nothing but half headers', repeated('ffe0', frames)],
  ['MP3 behind hundreds of thousands of tags', repeated('49443303000000000000')],
  ['MP4 of half a million boxes', repeated('0000000866726565', ftyp)],
  ['MP4 of boxes in boxes', repeated('003d09006d6f6f76', ftyp)],
  ['FLAC of a million empty blocks', repeated('01000000', Buffer.from('fLaC'))],
  ['WebM of two million empty elements', repeated('ec80', webm)],
  ['WebM of clusters without end', repeated('1f43b675ff', webm)],
  ['Ogg of empty pages', repeated(Buffer.from('OggS'.padEnd(28, '\0')).toString('hex'))],
  ['an MPEG program stream of nothing but packs', repeated('000001ba'.padEnd(28, '4'))],
  ['WAV of one sample a second', claiming({ sampleRate: 1 })],
  ['WAV of 4 GHz', claiming({ sampleRate: 2 ** 32 - 1 })],
  ['WAV of 1,000 channels', claiming({ channels: 1000 })],
];

describe.skipIf(unheard !== undefined).each(hostile)('%s', (_, file) => {
  it('does not delay the next file for long, if its length is counted', async () => {
    const [, behind] = await Promise.all([
      probe.durationMs(file, detectContainer(file, 'a.mp3')),
      probe.durationMs(good, 'wav'),
    ]);
    expect(behind).toBe(6000);
  });

  it('is transcribed or refused', async () => {
    const bytes = new Uint8Array(file);
    const { code } = await outcomeOf(
      pools,
      { container: detectContainer(file, 'a.mp3'), bytes },
      hourOfSamples,
    );
    expect([undefined, 'invalid_file']).toContain(code);
  });
});

describe.skipIf(missing !== undefined)('ten thousand recordings with random faults', () => {
  const filesInAll = 10_000;
  let whole: Recording[];
  beforeAll(async () => {
    whole = await recordings();
  });

  it('give samples or are refused, in bounded memory', async () => {
    const random = new Random(4);
    const codes = new Map<string | undefined, number>();
    let started = 0;
    const hearSome = async () => {
      while (started < filesInAll) {
        const recording = whole[started % whole.length];
        started += 1;
        if (recording === undefined) throw new Error('there are no recordings');
        const { code } = await outcomeOf(pools, mutated(recording, random), hourOfSamples);
        codes.set(code, (codes.get(code) ?? 0) + 1);
      }
    };
    const before = process.memoryUsage.rss();
    await Promise.all(Array.from({ length: availableParallelism() }, hearSome));
    process.stdout.write(`heard ${codes.get(undefined)}, refused ${codes.get('invalid_file')}\n`);
    // A fault may change the codec of a file to a known one without a decoder.
    codes.delete('unsupported_file_format');
    expect([...codes.keys()].sort()).toEqual(['invalid_file', undefined]);
    expect(process.memoryUsage.rss() - before).toBeLessThan(300 * megabytes);
  });
});

it.skipIf(missing !== undefined)(
  'a bomb of eleven hours in 4 MB is transcribed in bounded memory',
  async () => {
    const silence = ['-f', 'lavfi', '-i', 'anullsrc=r=8000:cl=mono', '-t', '40000', '-frame_size', '65535'];
    const bytes = new Uint8Array(await generate('flac', ...silence));
    const before = process.memoryUsage.rss();
    const { samples } = await outcomeOf(pools, { container: 'flac', bytes }, 12 * hourOfSamples);
    expect(samples).toBe(40_000 * 16_000);
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * megabytes);
  },
);
