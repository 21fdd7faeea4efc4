import { wordsForAbbreviations } from './abbreviations.ts';
import { wordsForAddresses } from './addresses.ts';
import { wordsForArithmetic } from './arithmetic.ts';
import { markBlocks } from './blocks.ts';
import { composeCharacters, tidyCharacters, transliterate } from './characters.ts';
import { wordsForDatesAndTimes } from './dates-and-times.ts';
import { wordsForMeasures } from './measures.ts';
import { wordsForMoney } from './money.ts';
import { wordsForMarks, wordsForSymbols } from './symbols.ts';

/**
 * Writes any text the way flite can say all of it: printable ASCII, with words for symbols, addresses and units, other scripts
 * in Latin letters, emoji by their names. What flite says well by itself (numbers, years, `$5.20`, `12:30`, `Dr.`) stays.
 * Words are one blank apart, paragraphs a blank line, list items and the like a line end. The result is empty, or has no
 * letter and no digit, where there is nothing to say. Takes time linear in the length of the text.
 */
export function speakableText(text: string): string {
  return steps.reduce((written, step) => step(written), text);
}

/** Addresses come first, while their marks are still theirs, and signs of currency before other scripts go. */
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

/** Whether anything of a text that `speakableText` gave can be heard. */
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
      // Of two numbers with a comma between, flite spells the first in digits unless a dash parts them.
      .replace(/(?<=\d[,;]) (?=["'(]?\d)/g, ' -- ')
      .replace(/ ?\n[ ,]*/g, '\n')
      .replace(/\n{2,}/g, '\n\n')
      .trim()
  );
}
