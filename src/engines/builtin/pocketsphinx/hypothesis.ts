/** Parses the recogniser's words for an utterance: one line each, `word first last probability`, in frames of 10 ms. */

/** Milliseconds in a frame of the recogniser. */
const frameMs = 10;

export interface RecognisedWord {
  readonly word: string;
  /** Milliseconds from the start of the utterance. */
  readonly startMs: number;
  readonly endMs: number;
  /** The word's probability among the recogniser's candidates, 0 to 1, in thousandths. */
  readonly probability: number;
}

/** Throws an `Error` on any other form of line. */
export function readHypothesis(lines: string): RecognisedWord[] {
  return lines.split('\n').slice(0, -1).map(readWord);
}

function readWord(line: string): RecognisedWord {
  const [word = '', ...numbers] = line.split(' ');
  const [first = Number.NaN, last = Number.NaN, probability = Number.NaN] = numbers.map(Number);
  if (!(first >= 0 && last >= first && probability >= 0)) {
    throw new Error(`the recogniser gave an unexpected line: ${line}`);
  }
  // The recogniser rounds, and sometimes gives 1.001.
  return {
    word,
    startMs: first * frameMs,
    endMs: (last + 1) * frameMs,
    probability: Math.min(1, probability),
  };
}
