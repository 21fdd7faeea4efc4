/**
 * Cuts a recording into utterances for the recogniser and removes long pauses. An utterance keeps the positions of its
 * parts, so that times can refer to the recording.
 */
import { decodedSampleRate } from '../../media/decoding/decoder.ts';
import { type DecidedWindow, decidedWindows, frameSamples } from '../../media/voice-activity.ts';

/** A part of an utterance without a gap. All numbers are samples. */
export interface Stretch {
  /** Start in the utterance. */
  readonly offset: number;
  /** Start in the recording. */
  readonly start: number;
  readonly length: number;
}

export interface Utterance {
  /** 16 kHz mono, at most `utteranceSecondsMax`. */
  readonly samples: Int16Array<ArrayBuffer>;
  /** At least one, in order, without overlap, together the whole of `samples`. */
  readonly stretches: readonly Stretch[];
}

export interface CutAudio {
  /** Samples of the recording read so far. */
  readonly sampleCount: number;
  /** Undefined if this only reports progress: at least every `progressSeconds`, and at the end. */
  readonly utterance: Utterance | undefined;
}

/**
 * An utterance longer than this ends at the next pause. The recogniser takes a cepstral mean over each utterance: this
 * is long enough for a good mean, and short enough for it to follow a change of speaker or loudness.
 */
const utteranceSecondsMin = 3;
/** An utterance longer than this ends at a short pause, such as between the sentences of a fast reader. */
const utteranceSecondsForShortPause = 8;
const shortPauseFrames = 12;
/** Without a pause, an utterance of this length is cut at the quietest place in its second half. */
const utteranceSecondsMax = 20;
/** Frames of a pause that are kept after and before speech. A pause shorter than both together is kept whole. */
const pauseFramesKept = 25;
/** Length of the quietest place: a tenth of a second. */
const quietPlaceFrames = 10;
const progressSeconds = 30;

const framesPerSecond = decodedSampleRate / frameSamples;
const framesMin = utteranceSecondsMin * framesPerSecond;
const framesForShortPause = utteranceSecondsForShortPause * framesPerSecond;
const framesMax = utteranceSecondsMax * framesPerSecond;
/** An utterance has at most this many samples. */
export const utteranceSamplesMax = framesMax * frameSamples;

/** The utterances of `blocks` in order. Memory does not depend on the length; silence is not stored. */
export function* cutAtSilences(blocks: Iterable<Int16Array>): Generator<CutAudio, void, void> {
  const cutter = new Cutter();
  let sampleCount = 0;
  let reportedCount = 0;
  function* counted() {
    for (const block of blocks) {
      sampleCount += block.length;
      yield block;
    }
  }
  for (const window of decidedWindows(counted())) {
    for (const utterance of cutter.push(window)) yield { sampleCount, utterance };
    if (sampleCount - reportedCount < progressSeconds * decodedSampleRate) continue;
    reportedCount = sampleCount;
    yield { sampleCount, utterance: undefined };
  }
  yield { sampleCount, utterance: cutter.end() };
}

/** Collects frames of speech with their surroundings. Ends an utterance at a pause or at its maximum length. */
class Cutter {
  readonly #draft = new Draft();
  /** The last frames of a pause, which precede the next speech. */
  #runUp: { readonly samples: Int16Array; readonly level: number }[] = [];
  /** Frames of the recording so far. */
  #position = 0;
  /** Frames of silence since the last speech. */
  #silentFrames = 0;

  /** The utterances that end in this window. */
  push(window: DecidedWindow): Utterance[] {
    const ended: Utterance[] = [];
    for (let frame = 0; frame < window.speech.length; frame += 1) {
      // Once the kept part of the pause is all zeros, further silence only advances the time.
      if (window.samples === undefined && this.#silentFrames >= 2 * pauseFramesKept) {
        this.#position += window.speech.length - frame;
        break;
      }
      const samples =
        window.samples?.subarray(frame * frameSamples, (frame + 1) * frameSamples) ?? silentFrame;
      if (window.speech[frame] === 1) this.#addSpeech(samples, window.levels[frame] ?? 0);
      else this.#addSilence(samples, window.levels[frame] ?? 0);
      this.#position += 1;
      const utterance = this.#takeEnded();
      if (utterance !== undefined) ended.push(utterance);
    }
    return ended;
  }

  end(): Utterance | undefined {
    return this.#draft.takeAll();
  }

  #addSpeech(samples: Int16Array, level: number): void {
    for (const [index, frame] of this.#runUp.entries()) {
      this.#draft.add(frame.samples, frame.level, this.#position - this.#runUp.length + index);
    }
    this.#runUp = [];
    this.#draft.add(samples, level, this.#position);
    this.#silentFrames = 0;
  }

  #addSilence(samples: Int16Array, level: number): void {
    this.#silentFrames += 1;
    const isEndOfSpeech = this.#silentFrames <= pauseFramesKept && this.#draft.frames > 0;
    if (isEndOfSpeech) this.#draft.add(samples, level, this.#position);
    else this.#runUp.push({ samples, level });
    if (this.#runUp.length > pauseFramesKept) this.#runUp.shift();
  }

  #takeEnded(): Utterance | undefined {
    const { frames } = this.#draft;
    const isEnd =
      (this.#silentFrames === pauseFramesKept && frames >= framesMin) ||
      (this.#silentFrames === shortPauseFrames && frames >= framesForShortPause);
    if (isEnd) return this.#draft.takeAll();
    return frames >= framesMax ? this.#draft.takeToQuietestPlace() : undefined;
  }
}

const silentFrame = new Int16Array(frameSamples);

/** The unfinished utterance. */
class Draft {
  #samples = new Int16Array((framesMax + pauseFramesKept + 1) * frameSamples);
  #levels: number[] = [];
  /** The position of each frame in the recording. */
  #positions: number[] = [];

  get frames(): number {
    return this.#levels.length;
  }

  add(samples: Int16Array, level: number, position: number): void {
    this.#samples.set(samples, this.frames * frameSamples);
    this.#levels.push(level);
    this.#positions.push(position);
  }

  takeAll(): Utterance | undefined {
    return this.frames === 0 ? undefined : this.#take(this.frames);
  }

  takeToQuietestPlace(): Utterance {
    return this.#take(quietestPlace(this.#levels, framesMax / 2));
  }

  #take(frames: number): Utterance {
    const samples = this.#samples.slice(0, frames * frameSamples);
    this.#samples.copyWithin(0, frames * frameSamples);
    this.#levels.splice(0, frames);
    return { samples, stretches: stretchesOf(this.#positions.splice(0, frames)) };
  }
}

/** The middle of the quietest tenth of a second from frame `from` on. */
function quietestPlace(levels: readonly number[], from: number): number {
  let best = from;
  let bestSum = Number.POSITIVE_INFINITY;
  for (let at = from; at + quietPlaceFrames <= levels.length; at += 1) {
    const sum = levels.slice(at, at + quietPlaceFrames).reduce((total, level) => total + level, 0);
    if (sum < bestSum) [best, bestSum] = [at, sum];
  }
  return best + quietPlaceFrames / 2;
}

/** Groups frames that are consecutive in the recording. */
function stretchesOf(positions: readonly number[]): Stretch[] {
  const breaks = positions.flatMap((position, at) =>
    at === 0 || position !== (positions[at - 1] ?? 0) + 1 ? [at] : [],
  );
  return breaks.map((at, index) => ({
    offset: at * frameSamples,
    start: (positions[at] ?? 0) * frameSamples,
    length: ((breaks[index + 1] ?? positions.length) - at) * frameSamples,
  }));
}
