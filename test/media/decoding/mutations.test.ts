/** Recordings with random faults: they give some audio or are refused. test/slow/hostile-recordings.test.ts has many more. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missingHearing } from '../../../src/media/hearing-files.ts';
import { missingPrograms } from '../../support/audio-files.ts';
import { mutated, openPools, outcomeOf, type Recording, recordings } from '../../support/mutations.ts';
import { Random } from '../../support/random.ts';

const missing = missingHearing() ?? missingPrograms('ffmpeg');
if (missing !== undefined) process.stderr.write(`mutations.test.ts is skipped: ${missing}\n`);

const filesOfEach = 12;
const hourOfSamples = 3600 * 16_000;

describe.skipIf(missing !== undefined)('a recording with random faults', () => {
  const pools = openPools();
  let good: Recording[];
  beforeAll(async () => {
    good = await recordings();
  });
  afterAll(() => pools.close());

  it('is decoded up to the fault', async () => {
    for (const recording of good) {
      const { samples, code } = await outcomeOf(pools, recording, hourOfSamples);
      expect(code).toBeUndefined();
      expect(Math.abs(samples - 16_000)).toBeLessThan(2500);
    }
  });

  it('gives samples, or is refused as an invalid file', async () => {
    const random = new Random(2026);
    const outcomes = [];
    for (const recording of good) {
      for (let file = 0; file < filesOfEach; file++) {
        outcomes.push(await outcomeOf(pools, mutated(recording, random), hourOfSamples));
      }
    }
    const codes = new Set(outcomes.map(({ code }) => code));
    expect(codes).toEqual(new Set([undefined, 'invalid_file']));
  });
});
