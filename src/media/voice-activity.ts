/**
 * Voice activity detection in frames of 10 ms, against a noise floor that adapts to the recording. Measures two bands,
 * each with its own floor, so that neither hum nor hiss hides a voice. A doubtful frame counts as speech.
 */

import { joinSamples } from '../core/entities/live.ts';

/** Samples in a frame: 10 ms at 16 kHz. */
export const frameSamples = 160;
/** Frames in a window: half a second. Audio passes through the detector window by window. */
const windowFrames = 50;
const windowSamples = windowFrames * frameSamples;

/** Half a second of audio, or less at the end of a recording, with the decision and level of each frame. */
export interface DecidedWindow {
  /** The samples, padded with zeros at the end of the recording; undefined if all are zero. */
  readonly samples: Int16Array | undefined;
  /** 1 for each frame that may be speech, 0 for silence. Shorter only at the end of the recording. */
  readonly speech: Uint8Array;
  /** The loudness of each frame in dB over one step of a sample; 0 is digital silence. */
  readonly levels: Float32Array;
}

/** The floor is measured over windows behind, so that a long word does not count as noise, and ahead, for the start. */
const floorWindowsBehind = 12;
const floorWindowsAhead = 4;
/** Frames below this level are digital silence or dither. The floor ignores them. */
const emptyLevelDb = 3;
/** Speech starts when frames are this far above the floor... */
const onsetDb = 8;
/** ...for this many frames in a row, longer than a click... */
const onsetFrames = 5;
/** ...and ends when they are closer to the floor than this... */
const offsetDb = 5;
/** ...for this many frames in a row. */
const offsetFrames = 8;
/** Frames this far below the loudest around them are not speech, even in a silent room: a fading voice. */
const speechRangeDb = 50;
/** Share of a new frame in the smoothed energy. */
const smoothing = 0.5;

/** A window in one band. */
interface Band {
  /** The level of each frame, in dB over one step of a sample. */
  readonly levels: Float32Array;
  /** The lowest level of the frames that are not empty. */
  readonly quietest: number;
  readonly loudest: number;
}

const emptyBand: Band = { levels: new Float32Array(windowFrames), quietest: Infinity, loudest: 0 };

interface MeasuredWindow {
  readonly samples: Int16Array | undefined;
  /** Less than `windowFrames` only at the end of the recording. */
  readonly frames: number;
  readonly low: Band;
  readonly high: Band;
}

/**
 * The decisions for a recording, window by window. Holds about eight seconds of audio, whatever the length of the recording.
 * @param blocks of samples, of any length
 */
export function* decidedWindows(blocks: Iterable<Int16Array>): Generator<DecidedWindow, void, void> {
  const meter = new Meter();
  const hysteresis = new Hysteresis();
  /** Windows that the floor is measured over. The last `waiting` of them are not decided yet. */
  const windows: MeasuredWindow[] = [];
  let waiting = 0;
  const decideOldest = (): DecidedWindow => {
    const at = windows.length - waiting;
    waiting -= 1;
    const decided = decide(windows, at, hysteresis);
    if (at >= floorWindowsBehind) windows.shift();
    return decided;
  };
  for (const { samples, frames } of windowsOf(blocks)) {
    windows.push(meter.measure(samples, frames));
    waiting += 1;
    if (waiting > floorWindowsAhead) yield decideOldest();
  }
  while (waiting > 0) yield decideOldest();
}

/** The samples in windows, the last one padded with zeros. */
function* windowsOf(blocks: Iterable<Int16Array>) {
  let rest = new Int16Array(0);
  for (const block of blocks) {
    const joined = joinSamples([rest, block]);
    let at = 0;
    for (; at + windowSamples <= joined.length; at += windowSamples)
      yield { samples: joined.subarray(at, at + windowSamples), frames: windowFrames };
    rest = joined.slice(at);
  }
  if (rest.length === 0) return;
  const samples = new Int16Array(windowSamples);
  samples.set(rest);
  yield { samples, frames: Math.max(1, Math.floor(rest.length / frameSamples)) };
}

function decide(windows: readonly MeasuredWindow[], at: number, hysteresis: Hysteresis): DecidedWindow {
  const window = windows[at];
  if (window === undefined) throw new RangeError(`no window at ${at}`);
  const speech = new Uint8Array(window.frames);
  if (window.samples === undefined) {
    hysteresis.reset();
    return { samples: undefined, speech, levels: window.low.levels };
  }
  const lowFloor = floorOf(windows.map(({ low }) => low));
  const highFloor = floorOf(windows.map(({ high }) => high));
  const [low, high] = [window.low.levels, window.high.levels];
  for (let frame = 0; frame < window.frames; frame += 1) {
    const above = Math.max((low[frame] ?? 0) - lowFloor, (high[frame] ?? 0) - highFloor);
    speech[frame] = hysteresis.next(above) ? 1 : 0;
  }
  return { samples: window.samples, speech, levels: low };
}

/** The level of the noise in one band; 0 if all frames are empty. */
function floorOf(bands: readonly Band[]): number {
  const quietest = Math.min(...bands.map((band) => band.quietest));
  // The median of the windows, so that a knock on the microphone does not hide a quiet voice.
  const loudness = bands.map(({ loudest }) => loudest).sort((a, b) => a - b)[bands.length >> 1] ?? 0;
  return Math.max(Number.isFinite(quietest) ? quietest : 0, loudness - speechRangeDb);
}

/** Decides for each frame, by its distance from the floor, whether speech starts, continues or ends. */
class Hysteresis {
  #isSpeech = false;
  /** Frames in a row that contradict the current state. */
  #against = 0;

  next(aboveDb: number): boolean {
    const contradicts = this.#isSpeech ? aboveDb < offsetDb : aboveDb >= onsetDb;
    this.#against = contradicts ? this.#against + 1 : 0;
    if (this.#against >= (this.#isSpeech ? offsetFrames : onsetFrames)) {
      this.#isSpeech = !this.#isSpeech;
      this.#against = 0;
    }
    return this.#isSpeech;
  }

  reset(): void {
    this.#isSpeech = false;
    this.#against = 0;
  }
}

/** Measures the level of frames in both bands, on the differences of adjacent samples, which have no DC offset. */
class Meter {
  #lastSample = 0;
  #lowState = 0;
  #lowEnergy = 0;
  #highEnergy = 0;

  measure(samples: Int16Array, frames: number): MeasuredWindow {
    if (isAllZero(samples)) {
      this.#lastSample = this.#lowState = this.#lowEnergy = this.#highEnergy = 0;
      return { samples: undefined, frames, low: emptyBand, high: emptyBand };
    }
    const low = new Float32Array(windowFrames);
    const high = new Float32Array(windowFrames);
    for (let frame = 0; frame < frames; frame += 1) {
      this.#addFrame(samples, frame * frameSamples);
      low[frame] = decibels(this.#lowEnergy);
      high[frame] = decibels(this.#highEnergy);
    }
    return { samples, frames, low: bandOf(low, frames), high: bandOf(high, frames) };
  }

  #addFrame(samples: Int16Array, start: number): void {
    let [last, low, lowSum, highSum] = [this.#lastSample, this.#lowState, 0, 0];
    for (let at = start; at < start + frameSamples; at += 1) {
      const sample = samples[at] ?? 0;
      const difference = sample - last;
      last = sample;
      // A leaky sum of the differences restores the sample without frequencies below 100 Hz.
      low = difference + 0.96 * low;
      lowSum += low * low;
      highSum += difference * difference;
    }
    this.#lastSample = last;
    this.#lowState = low;
    this.#lowEnergy += smoothing * (lowSum / frameSamples - this.#lowEnergy);
    this.#highEnergy += smoothing * (highSum / frameSamples - this.#highEnergy);
  }
}

const zeros = Buffer.alloc(windowSamples * 2);

/** Compares memory, for speed: ten hours of silence are 576 million samples. */
function isAllZero(samples: Int16Array): boolean {
  return zeros.equals(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
}

function decibels(energy: number): number {
  return 10 * Math.log10(energy + 1);
}

function bandOf(levels: Float32Array, frames: number): Band {
  let { quietest, loudest } = emptyBand;
  for (let frame = 0; frame < frames; frame += 1) {
    const level = levels[frame] ?? 0;
    if (level < emptyLevelDb) continue;
    quietest = Math.min(quietest, level);
    loudest = Math.max(loudest, level);
  }
  return { levels, quietest, loudest };
}
