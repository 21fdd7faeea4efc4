/** Turns recognised utterances into segments with times in the recording. */
import type { TranscriptSegment, TranscriptWord } from '../../core/entities/engine.ts';
import { decodedSampleRate } from '../../media/decoding/decoder.ts';
import type { Stretch, Utterance } from './utterances.ts';

/** With times from the start of the utterance. */
export interface RecognisedWord extends TranscriptWord {
  /** The word's probability among the recogniser's candidates, 0 to 1. */
  readonly probability: number;
}

/** The recogniser gives probabilities in thousandths; 0 counts as half a thousandth. */
const probabilityMin = 0.0005;

/** A pause of this length or more between two words begins a new segment. */
const segmentPauseMs = 250;

/** Divides the words into segments at pauses, both the removed ones and those within the utterance. */
export function toSegments(utterance: Utterance, words: readonly RecognisedWord[]): TranscriptSegment[] {
  return utterance.stretches.flatMap((stretch, index) => {
    const next = utterance.stretches[index + 1];
    const own = words.filter((word) => isWithin(word, index === 0 ? undefined : stretch, next));
    return splitAtPauses(own).map((part) => toSegment(stretch, part));
  });
}

function splitAtPauses(words: readonly RecognisedWord[]): RecognisedWord[][] {
  const parts: RecognisedWord[][] = [];
  for (const word of words) {
    const part = parts.at(-1);
    const last = part?.at(-1);
    if (last === undefined || word.startMs - last.endMs >= segmentPauseMs) parts.push([word]);
    else part?.push(word);
  }
  return parts;
}

/** A word belongs to the stretch that contains its middle; the first and the last stretch are open-ended. */
function isWithin(word: RecognisedWord, stretch: Stretch | undefined, next: Stretch | undefined): boolean {
  const middleMs = (word.startMs + word.endMs) / 2;
  const isAfterStart = stretch === undefined || middleMs >= toMs(stretch.offset);
  return isAfterStart && (next === undefined || middleMs < toMs(next.offset));
}

function toSegment(stretch: Stretch, recognised: readonly RecognisedWord[]): TranscriptSegment {
  const words = recognised.map((word) => toTranscriptWord(stretch, word));
  return {
    startMs: words[0]?.startMs ?? toMs(stretch.start),
    endMs: words.at(-1)?.endMs ?? toMs(stretch.start + stretch.length),
    text: words.map(({ word }) => word).join(' '),
    words,
    avgLogprob: meanLogprob(recognised),
  };
}

/** Limits a word to its stretch, so that words on both sides of a removed pause never overlap. */
function toTranscriptWord(stretch: Stretch, { word, startMs, endMs }: RecognisedWord): TranscriptWord {
  const inRecording = (ms: number) =>
    toMs(stretch.start) + Math.min(Math.max(ms - toMs(stretch.offset), 0), toMs(stretch.length));
  return { word, startMs: inRecording(startMs), endMs: inRecording(endMs) };
}

function meanLogprob(words: readonly RecognisedWord[]): number {
  const sum = words.reduce(
    (total, { probability }) => total + Math.log(Math.max(probability, probabilityMin)),
    0,
  );
  return sum / words.length;
}

/** Exact, as stretches are whole frames of 10 ms. */
function toMs(samples: number): number {
  return (samples * 1000) / decodedSampleRate;
}
