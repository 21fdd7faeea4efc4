/**
 * Estimated times of words: the model gives none. Words share the loud frames of the audio by their length, and one that
 * ends with punctuation ends at the pause nearby.
 */

import type { TranscriptWord } from '../../../core/entities/engine.ts';

/** Samples in a frame: 10 ms at 16 kHz. */
const frameSamples = 160;
/** Frames this far below the loudest are pauses. */
const quietDb = 25;
/** A frame is as loud as the loudest around it, so that a consonant is no pause. */
const aroundFrames = 3;
const pauseFramesMin = 20;
/** A pause belongs to a word that is expected to end at most this many loud frames away. */
const nearFrames = 40;

/** With times from the first sample. @param samples 16 kHz mono */
export function timeWords(text: string, samples: Int16Array): TranscriptWord[] {
  const words = text.split(' ').filter((word) => word !== '');
  const clock = new LoudClock(loudFrames(samples));
  const ends = endsOf(words, clock);
  let last = 0;
  return words.map((word, at) => {
    const start = Math.max(last, clock.frameAfter(ends[at - 1] ?? 0));
    last = Math.max(start + 1, clock.frameBefore(ends[at] ?? clock.total));
    return { word, startMs: start * 10, endMs: last * 10 };
  });
}

/** Where each word ends, in loud frames. */
function endsOf(words: readonly string[], clock: LoudClock): number[] {
  const lengths = words.map(spokenLength);
  const ends: number[] = [];
  let from = 0;
  let start = 0;
  for (const [at, word] of words.entries()) {
    const isLast = at === words.length - 1;
    const rest = lengths.slice(from).reduce((sum, length) => sum + length, 0);
    const own = lengths.slice(from, at + 1).reduce((sum, length) => sum + length, 0);
    const expected = start + ((clock.total - start) * own) / rest;
    const pause = /\W$/.test(word) && !isLast ? clock.pauseNear(expected) : undefined;
    if (pause === undefined && !isLast) continue;
    const end = pause ?? clock.total;
    let spoken = 0;
    for (const length of lengths.slice(from, at + 1)) {
      spoken += length;
      ends.push(start + ((end - start) * spoken) / own);
    }
    [from, start] = [at + 1, end];
  }
  return ends;
}

/** About in proportion to the time that the word takes: letters, vowels once more, and the longer last syllable before a pause. */
function spokenLength(word: string): number {
  const letters = word.match(/\p{L}/gu)?.length ?? 0;
  const digits = word.match(/\d/g)?.length ?? 0;
  const vowels = word.match(/[aeiouy]+/gi)?.length ?? 1;
  return letters + 5 * digits + 2 * vowels + (/[.,!?;:]$/.test(word) ? 3 : 0);
}

function loudFrames(samples: Int16Array): boolean[] {
  const levels = Array.from({ length: Math.floor(samples.length / frameSamples) }, (_, frame) => {
    const part = samples.subarray(frame * frameSamples, (frame + 1) * frameSamples);
    return 10 * Math.log10(part.reduce((sum, sample) => sum + sample * sample, 0) / frameSamples + 1);
  });
  const loudest = levels.toSorted((a, b) => b - a)[Math.floor(levels.length / 20)] ?? 0;
  return levels.map((_, at) => {
    const around = levels.slice(Math.max(0, at - aroundFrames), at + aroundFrames + 1);
    return Math.max(...around) > loudest - quietDb;
  });
}

/** Converts between frames of the audio and loud frames among them. */
class LoudClock {
  /** Loud frames before each frame, and before the end. */
  readonly #before: number[] = [0];
  /** Loud frames before each pause. */
  readonly #pauses: number[] = [];

  constructor(loud: readonly boolean[]) {
    let quiet = 0;
    for (const isLoud of loud) {
      if (isLoud && quiet >= pauseFramesMin) this.#pauses.push(this.total);
      quiet = isLoud ? 0 : quiet + 1;
      this.#before.push(this.total + Number(isLoud));
    }
  }

  get total(): number {
    return this.#before.at(-1) ?? 0;
  }

  /** The first frame of speech after so many loud frames. */
  frameAfter(count: number): number {
    return Math.max(
      0,
      this.#before.findLastIndex((before) => before <= count + 1e-6),
    );
  }

  /** The last frame of speech up to so many loud frames. */
  frameBefore(count: number): number {
    return Math.max(
      0,
      this.#before.findIndex((before) => before >= count - 1e-6),
    );
  }

  pauseNear(count: number): number | undefined {
    const near = this.#pauses.filter((pause) => pause > 0 && Math.abs(pause - count) <= nearFrames);
    return near.toSorted((a, b) => Math.abs(a - count) - Math.abs(b - count))[0];
  }
}
