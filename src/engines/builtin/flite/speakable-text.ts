import { wordsForAbbreviations } from './abbreviations.ts';
import { wordsForAddresses } from './addresses.ts';
import { markBlocks } from './blocks.ts';
import { composeCharacters, tidyCharacters, transliterate } from './characters.ts';
import { wordsForDatesAndTimes } from './dates-and-times.ts';
import { wordsForMeasures } from './measures.ts';
import { wordsForMoney } from './money.ts';
import { wordsForArithmetic, wordsForMarks, wordsForSymbols } from './symbols.ts';

/**
 * Rewrites a text so that flite can speak all of it: printable ASCII, with words for symbols, addresses and units, other
 * scripts in Latin letters, emoji by name. Parts that flite reads well (numbers, years, `$5.20`, `12:30`, `Dr.`) stay.
 * Words are separated by one blank, paragraphs by a blank line, list items and the like by a line end. The result is
 * empty, or has no letter and no digit, if there is nothing to speak. Takes time linear in the length of the text.
 *
 * Names of characters can be much longer than the text. A result of more than 32,000 letters is shortened: every hundred characters
 * of the text then give at most 800 letters.
 */
export function speakableText(text: string): string {
  const whole = writtenOut(text);
  if (whole.length <= lettersMax) return whole;
  const parts = text.toWellFormed().match(/.{1,100}/gsu) ?? [];
  return parts.map((part) => writtenOut(part).slice(0, partLettersMax)).join(' ');
}

const lettersMax = 32_000;
/** With the blank behind it, eight for each of a hundred characters. */
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
