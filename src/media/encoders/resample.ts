/**
 * A streaming resampler for a rational ratio: a windowed-sinc low-pass in polyphase form. Output sample k lies exactly
 * at input position k * from / to, so there is no delay. Before its start and after its end the signal counts as
 * silence.
 */
import { type Encoder, joinBytes } from './encoder.ts';
import { fastestFilter, type PolyphaseFilter, type RunFilter } from './resample-filter.ts';

/** Zero crossings of the sinc on each side. More make the filter sharper and slower. */
const zeroCrossings = 32;
/** The low-pass is 6 dB down at this share of the lower Nyquist frequency; the flat band ends at about 0.85. */
const cutoffShare = 0.94;
/** Shape of the Kaiser window. 9 attenuates the stop band by 90 dB, below 16-bit noise. */
const kaiserBeta = 9;

/**
 * Puts a resampler in front of an encoder that takes samples at `toRate`. Returns the encoder itself if both rates are
 * equal.
 */
export function resampled(encoder: Encoder, fromRate: number, toRate: number): Encoder {
  if (fromRate === toRate) return encoder;
  const resampler = new Resampler(fromRate, toRate);
  return {
    encode: (samples) => encoder.encode(resampler.process(samples)),
    finish: () => joinBytes([encoder.encode(resampler.flush()), encoder.finish()]),
    free: () => encoder.free(),
  };
}

export class Resampler {
  readonly #filter: PolyphaseFilter;
  readonly #run: RunFilter;
  /** Input that later output needs, from the first tap of the next output sample on. */
  #held: Float32Array;
  #phase = 0;
  #samplesIn = 0;
  #samplesOut = 0;

  /** Rates are whole numbers of hertz above zero. */
  constructor(fromRate: number, toRate: number, run: RunFilter = fastestFilter()) {
    this.#run = run;
    this.#filter = filterFor(fromRate, toRate);
    this.#held = new Float32Array(this.#filter.taps / 2 - 1);
  }

  /** Resamples the next samples. Holds back a few milliseconds, which depend on later samples. */
  process(samples: Int16Array): Int16Array<ArrayBuffer> {
    this.#samplesIn += samples.length;
    return this.#filtered(samples, Number.POSITIVE_INFINITY);
  }

  /** Returns the rest; all output is then round(samples in * toRate / fromRate) samples long. Call once, last. */
  flush(): Int16Array<ArrayBuffer> {
    const { up, down, taps } = this.#filter;
    const samplesDue = Math.round((this.#samplesIn * up) / down) - this.#samplesOut;
    return this.#filtered(new Int16Array(taps / 2), samplesDue);
  }

  #filtered(samples: Int16Array, samplesMax: number): Int16Array<ArrayBuffer> {
    const { up, down, taps } = this.#filter;
    const window = new Float32Array(this.#held.length + samples.length);
    window.set(this.#held);
    window.set(samples, this.#held.length);

    const positions = window.length - taps + 1;
    const samplesReady = Math.max(0, Math.ceil((positions * up - this.#phase) / down));
    const count = Math.min(samplesMax, samplesReady);
    const output = this.#run(this.#filter, window, this.#phase, count);
    const phase = this.#phase + count * down;
    this.#held = window.slice(Math.floor(phase / up));
    this.#phase = phase % up;
    this.#samplesOut += count;
    return output;
  }
}

const filters = new Map<string, PolyphaseFilter>();
const filtersMax = 16;

function filterFor(fromRate: number, toRate: number): PolyphaseFilter {
  const rates = `${fromRate} ${toRate}`;
  const known = filters.get(rates);
  if (known !== undefined) return known;
  if (filters.size >= filtersMax) filters.clear();
  const filter = designFilter(fromRate, toRate);
  filters.set(rates, filter);
  return filter;
}

function designFilter(fromRate: number, toRate: number): PolyphaseFilter {
  const divisor = greatestCommonDivisor(fromRate, toRate);
  const up = toRate / divisor;
  const down = fromRate / divisor;
  const narrowing = Math.min(1, up / down);
  const half = Math.ceil(zeroCrossings / narrowing);
  const taps = half * 2;
  const coefficients = new Float32Array(up * taps);
  for (let phase = 0; phase < up; phase += 1) {
    coefficients.set(designPhase(phase / up, half, narrowing * cutoffShare), phase * taps);
  }
  return { up, down, taps, coefficients };
}

/** The taps around an output sample that lies `fraction` of an input sample after the tap at `half - 1`. */
function designPhase(fraction: number, half: number, cutoff: number): Float32Array {
  const row = new Float32Array(half * 2);
  let sum = 0;
  for (let tap = 0; tap < row.length; tap += 1) {
    const distance = tap - (half - 1) - fraction;
    const value = sinc(cutoff * distance) * kaiser(distance / half);
    row[tap] = value;
    sum += value;
  }
  // Each phase has a gain of 1; otherwise a constant signal would hum at the rate at which phases alternate.
  return row.map((value) => value / sum);
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** The Kaiser window at `x` from -1 to 1, up to a constant factor. */
function kaiser(x: number): number {
  return besselI0(kaiserBeta * Math.sqrt(Math.max(0, 1 - x * x)));
}

/** The modified Bessel function of order zero, by its power series. */
function besselI0(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-12; k += 1) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
