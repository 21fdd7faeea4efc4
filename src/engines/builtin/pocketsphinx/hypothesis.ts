/**
 * Reads the output of pocketsphinx_batch for an utterance: one line in its own segment format, even if no word was
 * recognised, then one CTM line for each word, with the word's probability.
 */

/** Milliseconds in a frame of the recogniser. */
const frameMs = 10;

export interface RecognisedWord {
  readonly word: string;
  /** Milliseconds from the start of the utterance. */
  readonly startMs: number;
  readonly endMs: number;
  /** The word's probability among all that the recogniser considered, 0 to 1, in thousandths; undefined if unknown. */
  readonly probability: number | undefined;
}

/** Collects the lines of one utterance. @throws Error on any other line */
export class HypothesisReader {
  /** Undefined until the segment line is read. */
  #wordCount: number | undefined;
  readonly #words: RecognisedWord[] = [];

  /** Reads the next line. Returns the words after the last one. */
  read(line: string): readonly RecognisedWord[] | undefined {
    if (this.#wordCount === undefined) this.#wordCount = countWords(line);
    else this.#words.push(parseWord(line));
    return this.#words.length === this.#wordCount ? this.#words : undefined;
  }
}

/** Silence, noise and the bounds of a sentence are not words: `<s>`, `<sil>`, `[NOISE]`, `++UM++`. */
const notAWord = /^(<.*>|\[.*\]|\+\+.*\+\+)$/;

/** `name S 0 T total A acoustic L language (frame acoustic language word)... frame` */
function countWords(line: string): number {
  const fields = line.trim().split(/ +/);
  if (fields[1] !== 'S' || fields[3] !== 'T') throw unreadable(line);
  const words = fields.slice(9, -1).filter((_, index) => index % 4 === 3);
  return words.filter((word) => !notAWord.test(word)).length;
}

/** `name channel start duration word probability`, times in seconds. The duration leaves out the last frame. */
function parseWord(line: string): RecognisedWord {
  const [, , start, duration, word, probability] = line.trim().split(/ +/);
  const startMs = Math.round(Number(start) * 1000);
  const durationMs = Math.round(Number(duration) * 1000) + frameMs;
  if (word === undefined || !(startMs >= 0) || !(durationMs >= 0)) throw unreadable(line);
  return { word, startMs, endMs: startMs + durationMs, probability: probabilityOf(probability) };
}

/** The recogniser rounds, and sometimes prints 1.001. */
function probabilityOf(printed: string | undefined): number | undefined {
  const probability = Number(printed);
  return Number.isFinite(probability) ? Math.min(1, Math.max(0, probability)) : undefined;
}

function unreadable(line: string): Error {
  return new Error(`pocketsphinx_batch printed an unexpected line: ${line.slice(0, 200)}`);
}
