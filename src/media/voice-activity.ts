/**
 * Tells silence from what may be speech, in frames of 10 ms, against a noise floor that follows the recording. It looks at
 * two bands, each with its own floor, so that neither hum nor hiss hides a voice. When in doubt, it is speech.
 */

/** Samples in a frame: 10 ms at 16 kHz. */
export const frameSamples = 160;
/** Frames in a window: half a second, the grain in which audio passes through the detector. */
export const windowFrames = 50;
export const windowSamples = windowFrames * frameSamples;

/** Half a second of audio (at the end of a recording perhaps less) and what is known of each of its frames. */
export interface JudgedWindow {
  /** The samples, filled up with zeros at the end of the recording; undefined where all of them are zero. */
  readonly samples: Int16Array | undefined;
  /** 1 for each frame that may be speech, 0 for silence. Shorter only at the end of the recording. */
  readonly speech: Uint8Array;
  /** The loudness of each frame in dB over one step of a sample; 0 is digital silence. */
  readonly levels: Float32Array;
}

/** How long the floor is looked for: behind, so that a long word is not taken for noise, and ahead for the start. */
const floorWindowsBehind = 12;
const floorWindowsAhead = 4;
/** Frames below this are digital silence or its dither: they say nothing about the noise of the room. */
const emptyLevelDb = 3;
/** Speech begins this far above the floor... */
const onsetDb = 8;
/** ...when it stays there for so many frames, which a click does not... */
const onsetFrames = 5;
/** ...and ends when it has been closer to the floor than this... */
const offsetDb = 5;
/** ...for so many frames. */
const offsetFrames = 8;
/** What is so far below the loudness around it is no speech, however quiet the room: a voice that dies away. */
const speechRangeDb = 50;
/** How strongly a frame's energy is mixed with those before it. */
const smoothing = 0.5;

/** The loudness of each frame of a window in one band, in dB over one step of a sample. */
type BandLevels = Float32Array;

/** The quietest frame of a band that is not empty, and the loudest; the wrong way round where all are empty. */
interface LevelRange {
  readonly quietest: number;
  readonly loudest: number;
}

const emptyRange: LevelRange = { quietest: Number.POSITIVE_INFINITY, loudest: 0 };

interface MeasuredWindow {
  readonly samples: Int16Array | undefined;
  /** Below `windowFrames` only at the end of the recording. */
  readonly frames: number;
  readonly low: BandLevels;
  readonly high: BandLevels;
  readonly lowRange: LevelRange;
  readonly highRange: LevelRange;
}

export interface SpeechDetector {
  /** Takes the next `windowSamples` samples, which it keeps, and returns those windows it has judged by now. */
  push(samples: Int16Array): JudgedWindow[];
  /** Takes what is left of the recording, less than a window, and returns all windows not yet returned. */
  end(rest: Int16Array): JudgedWindow[];
}

/** A detector for one recording. It holds about eight seconds of audio, whatever the length. */
export function createSpeechDetector(): SpeechDetector {
  const meter = new Meter();
  const hysteresis = new Hysteresis();
  /** Windows that count for the floor; the last `waiting` of them are not judged yet. */
  const windows: MeasuredWindow[] = [];
  let waiting = 0;

  const judgeOldest = (): JudgedWindow => {
    const at = windows.length - waiting;
    waiting -= 1;
    const judged = judge(windows, at, hysteresis);
    if (at >= floorWindowsBehind) windows.shift();
    return judged;
  };
  const add = (samples: Int16Array, frames: number): void => {
    windows.push(meter.measure(samples, frames));
    waiting += 1;
  };
  return {
    push(samples) {
      add(samples, windowFrames);
      return waiting > floorWindowsAhead ? [judgeOldest()] : [];
    },
    end(rest) {
      if (rest.length > 0) {
        const filled = new Int16Array(windowSamples);
        filled.set(rest);
        add(filled, Math.max(1, Math.floor(rest.length / frameSamples)));
      }
      return Array.from({ length: waiting }, judgeOldest);
    },
  };
}

function judge(windows: readonly MeasuredWindow[], at: number, hysteresis: Hysteresis): JudgedWindow {
  const window = windows[at];
  if (window === undefined) throw new RangeError(`no window at ${at}`);
  const speech = new Uint8Array(window.frames);
  if (window.samples === undefined) {
    hysteresis.reset();
    return { samples: undefined, speech, levels: window.low };
  }
  const lowFloor = floorOf(windows, ({ lowRange }) => lowRange);
  const highFloor = floorOf(windows, ({ highRange }) => highRange);
  for (let frame = 0; frame < window.frames; frame += 1) {
    const above = Math.max((window.low[frame] ?? 0) - lowFloor, (window.high[frame] ?? 0) - highFloor);
    speech[frame] = hysteresis.next(above) ? 1 : 0;
  }
  return { samples: window.samples, speech, levels: window.low };
}

/** Without any frame that says something about noise, there is none: all that is not empty counts. */
function floorOf(
  windows: readonly MeasuredWindow[],
  rangeOf: (window: MeasuredWindow) => LevelRange,
): number {
  const ranges = windows.map(rangeOf);
  const quietest = Math.min(...ranges.map((range) => range.quietest));
  // The median of the windows, so that a knock against the microphone does not hide a quiet voice.
  const loudness = ranges.map((range) => range.loudest).sort((a, b) => a - b)[ranges.length >> 1] ?? 0;
  return Math.max(Number.isFinite(quietest) ? quietest : 0, loudness - speechRangeDb);
}

/** Whether speech goes on, from how far each frame stands above the floor. */
class Hysteresis {
  #isSpeech = false;
  /** Frames in a row that speak against the present state. */
  #against = 0;

  next(aboveDb: number): boolean {
    const speaksAgainst = this.#isSpeech ? aboveDb < offsetDb : aboveDb >= onsetDb;
    this.#against = speaksAgainst ? this.#against + 1 : 0;
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

const emptyLevels: BandLevels = new Float32Array(windowFrames);

/** Measures frames in both bands, each the difference of a sample to the one before it, which drops any DC offset. */
class Meter {
  #lastSample = 0;
  #lowState = 0;
  #lowEnergy = 0;
  #highEnergy = 0;

  measure(samples: Int16Array, frames: number): MeasuredWindow {
    if (isAllZero(samples)) return this.#emptyWindow(frames);
    const low = new Float32Array(windowFrames);
    const high = new Float32Array(windowFrames);
    for (let frame = 0; frame < frames; frame += 1) {
      this.#addFrame(samples, frame * frameSamples);
      low[frame] = decibels(this.#lowEnergy);
      high[frame] = decibels(this.#highEnergy);
    }
    return { samples, frames, low, high, lowRange: rangeOf(low, frames), highRange: rangeOf(high, frames) };
  }

  #emptyWindow(frames: number): MeasuredWindow {
    this.#lastSample = this.#lowState = this.#lowEnergy = this.#highEnergy = 0;
    const [low, high] = [emptyLevels, emptyLevels];
    return { samples: undefined, frames, low, high, lowRange: emptyRange, highRange: emptyRange };
  }

  #addFrame(samples: Int16Array, start: number): void {
    let [last, low, lowSum, highSum] = [this.#lastSample, this.#lowState, 0, 0];
    for (let at = start; at < start + frameSamples; at += 1) {
      const sample = samples[at] ?? 0;
      const difference = sample - last;
      last = sample;
      // A leaky sum of the differences is the sample again, without what is below 100 Hz.
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

/** A comparison of memory: ten hours of silence are 576 million samples. */
function isAllZero(samples: Int16Array): boolean {
  return zeros.equals(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength));
}

function decibels(energy: number): number {
  return 10 * Math.log10(energy + 1);
}

function rangeOf(levels: BandLevels, frames: number): LevelRange {
  let { quietest, loudest } = emptyRange;
  for (let frame = 0; frame < frames; frame += 1) {
    const level = levels[frame] ?? 0;
    if (level < emptyLevelDb) continue;
    quietest = Math.min(quietest, level);
    loudest = Math.max(loudest, level);
  }
  return { quietest, loudest };
}
