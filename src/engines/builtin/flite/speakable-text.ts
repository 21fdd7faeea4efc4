import anyAscii from 'any-ascii';
import { englishWords, wordsForAscii } from './english.ts';

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

const steps: readonly ((text: string) => string)[] = [
  tidyCharacters,
  markBlocks,
  composeCharacters,
  englishWords,
  transliterate,
  wordsForAscii,
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

/** A bullet, a list number or a heading mark, with the blank after it. */
const itemStart = /^\s*(?:[-*+•‣◦▪·]|#{1,6}|\d{1,3}[.)])\s+/;

/**
 * Keeps the line ends that matter for speech: between paragraphs (`\n\n`), around list items and headings, and after
 * lines that are shorter than a wrapped line (`\n`). Other line ends become blanks.
 */
function markBlocks(text: string): string {
  return text
    .split(/\n[^\S\n]*\n\s*/)
    .map((paragraph) => joinLines(paragraph.split('\n')))
    .join('\n\n');
}

function joinLines(lines: readonly string[]): string {
  const width = lines.reduce((longest, line) => Math.max(longest, line.length), 0);
  let joined = '';
  let previous: string | undefined;
  for (const line of lines) {
    if (previous !== undefined) joined += endsOnPurpose(previous, line, width) ? '\n' : ' ';
    // Marks are not spoken, but the number of a list item is.
    joined += line.replace(itemStart, (mark) => (/\d/.test(mark) ? mark : ''));
    previous = line;
  }
  return joined;
}

function endsOnPurpose(line: string, next: string, width: number): boolean {
  if (itemStart.test(next) || /^\s*#{1,6}\s/.test(line)) return true;
  const firstWord = /^\s*\S*/.exec(next)?.[0].trim() ?? '';
  return line.length + 1 + firstWord.length <= width;
}

/** Replaces lone surrogates, control characters and invisible characters. Line ends become `\n`. */
function tidyCharacters(text: string): string {
  return (
    text
      .toWellFormed()
      .replace(/\r\n?|[\v\f\u0085\u2028\u2029]/g, '\n')
      // The zero-width space separates words; other format characters occur inside them.
      .replace(/[\u200b\ufffc\ufffd]|(?![\n])\p{Cc}/gu, ' ')
      .replace(/\p{Cf}|\p{Variation_Selector}|\p{Co}|\p{Cn}/gu, '')
      .replace(/[^\S\n]/g, ' ')
  );
}

const exponents = new Map([
  ['²', ' squared '],
  ['³', ' cubed '],
]);
const superscript = '[⁰¹²³⁴⁵⁶⁷⁸⁹]';
const exponentPattern = new RegExp(`(?<=[\\p{L}\\p{N})])(?:⁻?${superscript}+)`, 'gu');

/**
 * Normalises full-width forms, ligatures and the like (NFKC), after replacing characters that would lose their meaning
 * by words: exponents, fractions, trademark signs.
 */
function composeCharacters(text: string): string {
  return text
    .replace(exponentPattern, (power) => exponents.get(power) ?? ` to the power of ${power} `)
    .replace(/(?<=\d)(?=[½¼¾⅐-⅞])/g, ' and ')
    .replace(/™/g, ' trademark ')
    .replace(/℠/g, ' service mark ')
    .normalize('NFKC')
    .replace(/⁄/g, '/');
}

/** Writes the rest in ASCII: emoji by name, other scripts by sound where `any-ascii` knows them. */
function transliterate(text: string): string {
  return text
    .replace(/([\u{1f1e6}-\u{1f1ff}])([\u{1f1e6}-\u{1f1ff}])/gu, (_, first: string, second: string) => {
      return ` ${anyAscii(first)} ${anyAscii(second)} flag `;
    })
    .replace(/((?![\p{ASCII}])\p{Extended_Pictographic})\1*/gu, (_, emoji: string) => ` ${emojiName(emoji)} `)
    .replace(/\P{ASCII}+/gu, transliterateRun);
}

function emojiName(emoji: string): string {
  return anyAscii(emoji).replace(/[:_]/g, ' ');
}

function transliterateRun(run: string): string {
  const ascii = anyAscii(run);
  if (/^[\p{Script=Latin}\p{M}]+$/u.test(run)) return ascii;
  // `any-ascii` writes Chinese and Korean as `NiHao`, a capital for each syllable; separate words keep the syllables.
  const spaced = ascii.replace(/(?<=[a-z])(?=[A-Z])/g, ' ').replace(/([.,!?;:])(?=\S)/g, '$1 ');
  return ` ${spaced} `;
}
