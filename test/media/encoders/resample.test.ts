import { describe, expect, it } from 'vitest';
import { Resampler } from '../../../src/media/encoders/resample.ts';
import {
  fastestFilter,
  type RunFilter,
  runInJavaScript,
} from '../../../src/media/encoders/resample-filter.ts';
import { noise, signalToErrorDb } from '../signals.ts';

const rates = [8000, 11_025, 16_000, 22_050, 44_100, 48_000];
const target = 24_000;

function tone(sampleRate: number, hertz: number, samples: number): Int16Array {
  return Int16Array.from({ length: samples }, (_, index) =>
    Math.round(12_000 * Math.sin((2 * Math.PI * hertz * index) / sampleRate)),
  );
}

/** Where set-up has not built the one in WebAssembly, both are in JavaScript. */
const filters: [string, RunFilter][] = [
  ['JavaScript', runInJavaScript],
  ['WebAssembly', fastestFilter()],
];

function resampledBy(
  run: RunFilter,
  samples: Int16Array,
  from: number,
  to: number,
  chunk = samples.length,
): Int16Array {
  const resampler = new Resampler(from, to, run);
  const output: number[] = [];
  for (let offset = 0; offset < samples.length; offset += chunk) {
    output.push(...resampler.process(samples.subarray(offset, offset + chunk)));
  }
  output.push(...resampler.flush());
  return Int16Array.from(output);
}

/** Without the ends, where the sudden start of a tone is noise. */
const inner = (samples: Int16Array) => samples.subarray(400, -400);

describe.each(filters)('the resampler in %s', (_, run) => {
  const resample = (samples: Int16Array, from: number, to: number, chunk?: number) =>
    resampledBy(run, samples, from, to, chunk);

  it.each(rates)('keeps a tone from %i Hz unchanged and in time', (rate) => {
    for (const hertz of [100, 1000, 0.4 * Math.min(rate, target)]) {
      const output = resample(tone(rate, hertz, rate), rate, target);
      expect(signalToErrorDb(inner(tone(target, hertz, target)), inner(output))).toBeGreaterThan(70);
    }
  });

  it.each([44_100, 48_000])('lets nothing above the new Nyquist frequency fold back, from %i Hz', (rate) => {
    const output = inner(resample(tone(rate, 13_500, rate), rate, target));
    expect(Math.max(...output.map(Math.abs))).toBeLessThanOrEqual(1);
  });

  it.each([8000, 16_000])('adds no mirror image above the old Nyquist frequency, from %i Hz', (rate) => {
    const hertz = 0.42 * rate;
    const output = inner(resample(tone(rate, hertz, rate), rate, target));
    expect(signalToErrorDb(inner(tone(target, hertz, target)), output)).toBeGreaterThan(65);
  });

  it.each(rates)('gives the same samples from %i Hz for any chunk lengths', (rate) => {
    const samples = noise(rate, 0.2);
    const whole = resample(samples, rate, target);
    for (const chunk of [1, 7, 997]) expect(resample(samples, rate, target, chunk)).toEqual(whole);
  });

  it('gives exactly as many samples as the length requires', () => {
    for (const rate of rates) {
      for (const length of [0, 1, 2, 3, 100, 441, 9973]) {
        const output = resample(noise(rate, length / rate), rate, target);
        expect(output.length, `${length} samples at ${rate} Hz`).toBe(Math.round((length * target) / rate));
      }
    }
  });

  it('keeps a constant level, except at the edges', () => {
    const output = inner(resample(new Int16Array(8000).fill(10_000), 22_050, target));
    expect(new Set(output)).toEqual(new Set([10_000]));
  });

  it('clips overshoots instead of wrapping around', () => {
    const square = Int16Array.from({ length: 8000 }, (_, index) => (index % 80 < 40 ? 32_767 : -32_768));
    const output = resample(square, 8000, target);
    for (let index = 0; index < output.length; index += 1) {
      // 5 ms half periods are 120 samples here; in the middle of each the sign must be the square's.
      if (index % 120 === 60) expect(Math.sign(output[index] ?? 0)).toBe(index % 240 < 120 ? 1 : -1);
    }
    expect(Math.max(...output)).toBe(32_767);
    expect(Math.min(...output)).toBe(-32_768);
  });
});

it.each(rates)('gives samples from %i Hz that differ between the filters by rounding only', (rate) => {
  const samples = noise(rate, 1);
  const [one = [], other = []] = filters.map(([, run]) => resampledBy(run, samples, rate, target));
  const differences = Array.from(one, (sample, index) => Math.abs(sample - (other[index] ?? Number.NaN)));
  expect(Math.max(...differences)).toBeLessThanOrEqual(1);
  expect(differences.filter((difference) => difference > 0).length).toBeLessThan(one.length / 100);
});
