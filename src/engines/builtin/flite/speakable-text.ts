import { wordsForAbbreviations } from './abbreviations.ts';
import { wordsForAddresses } from './addresses.ts';
import { markBlocks } from './blocks.ts';
import { composeCharacters, tidyCharacters, transliterate } from './characters.ts';
import { wordsForDatesAndTimes } from './dates-and-times.ts';
import { wordsForMeasures } from './measures.ts';
import { wordsForMoney } from './money.ts';
import { wordsForArithmetic, wordsForMarks, wordsForSymbols } from './symbols.ts';

/**
 * Rewrites a text as printable ASCII that flite can speak: symbols, addresses and units as words, other scripts in
 * Latin letters, emoji by name. Keeps what flite reads well (numbers, years, `$5.20`, `Dr.`), and blank lines between
 * paragraphs. Linear time; a long result is shortened to 32,000 letters.
 */
export function speakableText(text: string): string {
  const whole = writtenOut(text);
  if (whole.length <= lettersMax) return whole;
  const parts = text.toWellFormed().match(/.{1,100}/gsu) ?? [];
  return parts.map((part) => writtenOut(part).slice(0, partLettersMax)).join(' ');
}

const lettersMax = 32_000;
/** Eight letters, with the blank after them, for each of a hundred characters. */
const partLettersMax = 799;

function writtenOut(text: string): string {
  return steps.reduce((written, step) => step(written), text);
}

/** Addresses come first, while their marks are unchanged; currency signs come before other scripts are rewritten. */
const steps: readonly ((text: string) => string)[] = [
  tidyCharacters,
  markBlocks,
  composeCharacters,
  wordsForAddresses,
  wordsForDatesAndTimes,
  wordsForArithmetic,
  wordsForMoney,
  wordsForMeasures,
  wordsForSymbols,
  transliterate,
  wordsForAbbreviations,
  wordsForMarks,
  tidyBlanks,
];

/** Whether a text from `speakableText` has anything to speak. */
export function canBeSaid(speakable: string): boolean {
  return /[A-Za-z0-9]/.test(speakable);
}

function tidyBlanks(text: string): string {
  return (
    text
      .replace(/ +/g, ' ')
      .replace(/(?: ?,){2,}/g, ',')
      .replace(/^[ ,]+/, '')
      .replace(/ (?=[,.;:!?)]+(?:\s|$))/g, '')
      // flite reads the first of two numbers with a comma between them digit by digit, unless a dash separates them.
      .replace(/(?<=\d[,;]) (?=["'(]?\d)/g, ' -- ')
      .replace(/ ?\n[ ,]*/g, '\n')
      .replace(/\n{2,}/g, '\n\n')
      .trim()
  );
}
