/** Test signals, and measures of their similarity. */

/**
 * A voice-like signal: a gliding tone with overtones up to 3 kHz, in syllables with silence between them. It is loud
 * from its first sample to its last, so that a cut at either end is noticed. It is the same at every rate.
 */
export function speechLike(sampleRate: number, seconds: number): Int16Array {
  return Int16Array.from({ length: Math.round(sampleRate * seconds) }, (_, index) => {
    const time = index / sampleRate;
    const turns = 140 * time + 30 * Math.sin(2 * Math.PI * 0.7 * time);
    const voice = [1, 0.6, 0.4, 0.3, 0.2].reduce(
      (sum, level, overtone) => sum + level * Math.sin(2 * Math.PI * turns * (overtone + 1)),
      0,
    );
    const isSyllable = time < 0.3 || time > seconds - 0.3 || Math.sin(2 * Math.PI * 2.2 * time) > -0.3;
    return isSyllable ? Math.round(6000 * voice) : 0;
  });
}

/** Reproducible noise, with most of its power in the lower frequencies, like a voice. */
export function noise(sampleRate: number, seconds: number): Int16Array {
  let state = 1;
  let level = 0;
  return Int16Array.from({ length: Math.round(sampleRate * seconds) }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    level = 0.9 * level + 0.1 * (state / 2 ** 31 - 1);
    return Math.round(40_000 * level);
  });
}

/** Cuts samples into chunks of the given lengths, in rotation; each chunk is a copy. */
export async function* inChunks(samples: Int16Array, lengths: readonly number[]): AsyncGenerator<Int16Array> {
  let offset = 0;
  for (let turn = 0; offset < samples.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? samples.length;
    yield samples.slice(offset, offset + length);
    offset += length;
  }
}

/** Correlation of two signals over their common length: 1 is the same shape, 0 unrelated. */
export function correlation(a: Int16Array, b: Int16Array): number {
  let product = 0;
  let powerA = 0;
  let powerB = 0;
  for (let index = 0; index < Math.min(a.length, b.length); index += 1) {
    const [x, y] = [a[index] ?? 0, b[index] ?? 0];
    product += x * y;
    powerA += x * x;
    powerB += y * y;
  }
  return product / Math.sqrt(powerA * powerB);
}

/** The delay of `late` behind `signal` in samples, up to `lagMax` either way: the best fit of their first second. */
export function lagOf(late: Int16Array, signal: Int16Array, sampleRate: number, lagMax: number): number {
  const part = signal.subarray(lagMax, lagMax + sampleRate);
  let best = { lag: 0, fit: Number.NEGATIVE_INFINITY };
  for (let lag = -lagMax; lag <= lagMax; lag += 1) {
    const fit = correlation(late.subarray(lagMax + lag), part);
    if (fit > best.fit) best = { lag, fit };
  }
  return best.lag;
}

/** Ratio of signal to error in decibels, over the common length. */
export function signalToErrorDb(signal: Int16Array, other: Int16Array): number {
  let power = 0;
  let error = 0;
  for (let index = 0; index < Math.min(signal.length, other.length); index += 1) {
    const sample = signal[index] ?? 0;
    power += sample ** 2;
    error += (sample - (other[index] ?? 0)) ** 2;
  }
  return 10 * Math.log10(power / Math.max(error, 1e-9));
}

/** The level of every 10 ms, in whole samples. Its shape survives any speech codec. */
export function loudness(samples: Int16Array, sampleRate: number): Int16Array {
  const width = Math.round(sampleRate / 100);
  return Int16Array.from({ length: Math.floor(samples.length / width) }, (_, index) => {
    const part = samples.subarray(index * width, (index + 1) * width);
    return Math.sqrt(part.reduce((sum, sample) => sum + sample ** 2, 0) / width);
  });
}

/** Levels of 16 bands from 0 to half the sample rate, in decibels. */
export function bandLevelsDb(samples: Int16Array): number[] {
  const [bins, width] = [64, 128];
  const powers = new Array<number>(16).fill(0);
  for (let start = 0; start + width <= samples.length; start += width) {
    for (let bin = 0; bin < bins; bin += 1) {
      let [real, imaginary] = [0, 0];
      for (let index = 0; index < width; index += 1) {
        const hann = 1 - Math.cos((2 * Math.PI * index) / width);
        const sample = (samples[start + index] ?? 0) * hann;
        const turn = (2 * Math.PI * bin * index) / width;
        real += sample * Math.cos(turn);
        imaginary += sample * Math.sin(turn);
      }
      const band = Math.floor((bin * powers.length) / bins);
      powers[band] = (powers[band] ?? 0) + real ** 2 + imaginary ** 2;
    }
  }
  return powers.map((power) => 10 * Math.log10(power + 1));
}
