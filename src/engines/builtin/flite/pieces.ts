/** A part of a text that is spoken as one utterance. */
export interface TextPiece {
  readonly text: string;
  /** Silence after the piece, in ms. */
  readonly pauseMs: number;
}

/** Longer than the voices' own pause at a comma (80 to 220 ms), as a reader pauses between sentences. */
const pausesMs = { insideClause: 0, clause: 120, sentence: 350, paragraph: 700 } as const;

/**
 * Maximum length of a piece, in letters of speech. flite needs about a millisecond a letter, so the first pieces are
 * short, for an early start. A piece may be one fifth longer to complete a sentence.
 */
const pieceLengthMax = 250;
const pieceLengths: readonly number[] = [60, 120];
const completion = 1.2;

/** A sentence shorter than this many letters is joined to the next: "Hi! I am Ann." */
const sentenceLengthMin = 10;
/** A shorter piece sounds broken. */
const cutLengthMin = 15;

/** Titles before a name, which flite reads in full. */
const titles = new Set(['Dr', 'Mr', 'Mrs', 'Ms', 'Messrs', 'St', 'Ph.D']);

/**
 * Cuts a text from `speakableText` into pieces of at most 300 letters of speech: at the ends of paragraphs, lines and
 * sentences, else after a clause, else between words, else inside a long word. The pieces contain the whole text, in
 * order.
 */
export function cutIntoPieces(text: string): TextPiece[] {
  const pieces: TextPiece[] = [];
  for (const paragraph of text.split('\n\n')) {
    for (const line of paragraph.split('\n')) {
      for (const words of sentencesOf(line)) cutSentence(words, pieces);
    }
    const last = pieces.pop();
    if (last !== undefined) pieces.push({ ...last, pauseMs: pausesMs.paragraph });
  }
  return pieces;
}

interface Word {
  readonly text: string;
  /** Time to speak the word; a letter of an ordinary word counts 1. */
  readonly length: number;
}

function sentencesOf(line: string): Word[][] {
  const words = line.split(' ').filter((word) => word !== '');
  const sentences: Word[][] = [[]];
  let length = 0;
  for (const [index, word] of words.entries()) {
    const parts = splitWord(word);
    sentences.at(-1)?.push(...parts);
    length += parts.reduce((sum, part) => sum + part.length, 0);
    if (length < sentenceLengthMin || !endsSentence(word, words[index + 1])) continue;
    sentences.push([]);
    length = 0;
  }
  return sentences;
}

function endsSentence(word: string, next = ''): boolean {
  const bare = word.replace(/["')]+$/, '').replace(/^["'(]+/, '');
  if (!/[.!?]$/.test(bare) || /^["'(]*[a-z]/.test(next)) return false;
  if (/^[ap]\.m\.$/.test(bare)) return true;
  // Initials ("J. Smith", "the U.S. Navy") seldom end a sentence.
  if (/^(?:[A-Za-z]\.)+$/.test(bare)) return false;
  return !titles.has(bare.slice(0, -1));
}

function cutSentence(words: readonly Word[], pieces: TextPiece[]): void {
  for (let start = 0; start < words.length; ) {
    const max = pieceLengths[pieces.length] ?? pieceLengthMax;
    const end = endOfPiece(words, start, max);
    const text = words.slice(start, end).map((word) => word.text);
    pieces.push({ text: text.join(' '), pauseMs: pauseAt(words, end) });
    start = end;
  }
}

/**
 * The end of a piece of at most `max`: that of the sentence if it is near, else after the last clause that fits, else after the
 * last word that may be separated from the next, else after the last word. A piece has at least one word.
 */
function endOfPiece(words: readonly Word[], start: number, max: number): number {
  let length = 0;
  const ends = { word: start + 1, free: 0, clause: 0 };
  for (let next = start + 1; ; next++) {
    length += words[next - 1]?.length ?? 0;
    if (length > max * completion) break;
    if (next === words.length) return next;
    if (length > max) continue;
    ends.word = next;
    if (length < cutLengthMin || belongTogether(words, next)) continue;
    ends.free = next;
    if (pauseAt(words, next) === pausesMs.clause) ends.clause = next;
  }
  return ends.clause || ends.free || ends.word;
}

/** flite reads a number by its neighbours, as in `June 5, 2026`, and a title with its name. */
function belongTogether(words: readonly Word[], position: number): boolean {
  const before = words[position - 1]?.text ?? '';
  const numbers = [before, words[position]?.text ?? ''].filter((word) => /\d|^--$/.test(word)).length;
  const isClause = pauseAt(words, position) === pausesMs.clause;
  return numbers > (isClause ? 1 : 0) || titles.has(before.replace(/\.$/, ''));
}

/** The pause at a cut before the word at this index. */
function pauseAt(words: readonly Word[], position: number): number {
  if (position === words.length) return pausesMs.sentence;
  const endsClause = /(?:[,;:)]["']?|^--)$/.test(words[position - 1]?.text ?? '');
  return endsClause || words[position]?.text.startsWith('(') ? pausesMs.clause : pausesMs.insideClause;
}

/** The word, or its parts if it is too long for a piece. */
function splitWord(word: string): Word[] {
  // Letters of an unpronounceable word are spelled, and a digit of a large number takes two words.
  const letterLength = /[aeiouy]/i.test(word) && !/^[A-Z]{2,}$/.test(word) ? 1 : 4;
  const lengthOf = (character: string) =>
    /\d/.test(character) ? 8 : /[a-z]/i.test(character) ? letterLength : 1;
  const length = [...word].reduce((sum, character) => sum + lengthOf(character), 1);
  if (length <= pieceLengthMax) return [{ text: word, length }];
  const middle = word.length >> 1;
  return [word.slice(0, middle), word.slice(middle)].flatMap(splitWord);
}
