import { composeCharacters, tidyCharacters, transliterate } from './characters.ts';
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
