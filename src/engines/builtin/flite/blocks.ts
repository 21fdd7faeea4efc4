/** A bullet, a list number or a heading mark, with the blank after it. */
const itemStart = /^\s*(?:[-*+•‣◦▪·]|#{1,6}|\d{1,3}[.)])\s+/;

/**
 * Keeps the line ends that matter for speech: between paragraphs (`\n\n`), around list items and headings, and after
 * lines that are shorter than a wrapped line (`\n`). Other line ends become blanks.
 */
export function markBlocks(text: string): string {
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
