/** Splits Markdown into blocks. HTML stays text, and an unfinished block shows what has arrived. */

export type Block =
  | { readonly kind: 'paragraph' | 'heading'; readonly text: string }
  | { readonly kind: 'code'; readonly language: string; readonly text: string }
  | { readonly kind: 'quote'; readonly blocks: readonly Block[] }
  | { readonly kind: 'list'; readonly start?: number; readonly items: readonly (readonly Block[])[] }
  | {
      readonly kind: 'table';
      readonly head: readonly string[];
      readonly rows: readonly (readonly string[])[];
    }
  | { readonly kind: 'rule' };

/** A block and the number of the line after it; undefined if no such block begins here. */
type Read = readonly [block: Block, next: number] | undefined;
type Reader = (lines: readonly string[], at: number, depth: number) => Read;

/** Quotes and lists in each other. Deeper ones are text. */
const depthMax = 8;

/** Cells of a row. Tables with more are text: short rows are filled, so a wide head would make many cells of few characters. */
const columnsMax = 100;

// None of these patterns can match a text in several ways: a model may write lines of many thousand characters.
const fence = /^ {0,3}(`{3,}|~{3,}(?!~))\s*(?:([^`\s]+)(?:\s[^`]*)?)?$/;
const heading = /^ {0,3}#{1,6}(?: +(.*))?$/s;
const rule = /^ {0,3}([-*_])(?: *\1){2,} *$/;
const quote = /^ {0,3}> ?/;
const item = /^(\s*)([-*+]|\d{1,9}[.)])(?: +(.*)|$)/s;
const columns = /^ {0,3}\|? *:?-+:? *(?:\| *:?-+:? *)*(?:\| *)?$/;

const readers: readonly Reader[] = [readCode, readHeading, readRule, readQuote, readList, readTable];

export function blocksOf(lines: readonly string[], depth = 0): Block[] {
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if (isBlank(lines[at])) {
      at++;
      continue;
    }
    const [block, next] = readBlock(lines, at, depth) ?? readParagraph(lines, at);
    blocks.push(block);
    at = next;
  }
  return blocks;
}

const isBlank = (line = ''): boolean => line.trim() === '';
const indentOf = (line: string): number => line.length - line.trimStart().length;

function readBlock(lines: readonly string[], at: number, depth: number): Read {
  for (const read of readers) {
    const found = read(lines, at, depth);
    if (found !== undefined) return found;
  }
  return undefined;
}

function readParagraph(lines: readonly string[], at: number): NonNullable<Read> {
  let next = at + 1;
  while (next < lines.length && !isBlank(lines[next]) && !endsParagraph(lines, next)) next++;
  const text = lines.slice(at, next).map((line) => line.trim());
  return [{ kind: 'paragraph', text: text.join('\n') }, next];
}

/** Whether a block begins here. Numbers other than 1 may be a part of the text. */
function endsParagraph(lines: readonly string[], at: number): boolean {
  const [line = '', below = ''] = lines.slice(at, at + 2);
  return (
    /^ {0,3}(?:`{3}|~{3}|#{1,6} |>)|^ *(?:[-*+]|1[.)]) +\S/.test(line) ||
    rule.test(line) ||
    isTable(line, below)
  );
}

function readCode(lines: readonly string[], at: number): Read {
  const line = lines[at] ?? '';
  const [, marks = '', language = ''] = fence.exec(line) ?? [];
  if (marks === '') return undefined;
  const ends = (one: string) => one.trim().startsWith(marks) && /^(`+|~+)$/.test(one.trim());
  let end = at + 1;
  while (end < lines.length && !ends(lines[end] ?? '')) end++;
  const indent = indentOf(line);
  const text = lines.slice(at + 1, end).map((one) => one.slice(Math.min(indent, indentOf(one))));
  return [{ kind: 'code', language, text: text.join('\n') }, end + 1];
}

function readHeading(lines: readonly string[], at: number): Read {
  const found = heading.exec(lines[at] ?? '');
  if (found === null) return undefined;
  return [{ kind: 'heading', text: (found[1] ?? '').trim().replace(/ #+$/, '') }, at + 1];
}

function readRule(lines: readonly string[], at: number): Read {
  return rule.test(lines[at] ?? '') ? [{ kind: 'rule' }, at + 1] : undefined;
}

function readQuote(lines: readonly string[], at: number, depth: number): Read {
  let next = at;
  while (depth < depthMax && quote.test(lines[next] ?? '')) next++;
  if (next === at) return undefined;
  const inside = lines.slice(at, next).map((line) => line.replace(quote, ''));
  return [{ kind: 'quote', blocks: blocksOf(inside, depth + 1) }, next];
}

function readList(lines: readonly string[], at: number, depth: number): Read {
  const first = item.exec(lines[at] ?? '');
  if (first === null || depth >= depthMax) return undefined;
  const [, , mark = ''] = first;
  const isNumbered = /\d/.test(mark);
  const indent = indentOf(lines[at] ?? '');
  const items: Block[][] = [];
  let next = at;
  while (next < lines.length) {
    const begin = item.exec(lines[next] ?? '');
    const [, , own = '', text = ''] = begin ?? [];
    const isSame =
      begin !== null && /\d/.test(own) === isNumbered && indentOf(lines[next] ?? '') <= indent + 1;
    if (!isSame || rule.test(lines[next] ?? '')) break;
    const end = endOfItem(lines, next + 1, indent);
    // Models often indent less than the width of the mark.
    const rest = lines
      .slice(next + 1, end)
      .map((line) => line.slice(Math.min(indentOf(line), indent + own.length + 1)));
    items.push(blocksOf([text, ...rest], depth + 1));
    next = end;
    while (next < lines.length && isBlank(lines[next]) && item.test(lines[next + 1] ?? '')) next++;
  }
  return [{ kind: 'list', ...(isNumbered && { start: Number.parseInt(mark, 10) }), items }, next];
}

/** The lines of an item are indented, or continue its paragraph. */
function endOfItem(lines: readonly string[], from: number, indent: number): number {
  let end = from;
  for (let at = from; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (isBlank(line)) continue;
    const isInside = indentOf(line) >= indent + 2;
    const continues = at === end && !/^ {0,3}(?:[#>`~|]|[-*+] |\d{1,9}[.)] )/.test(line);
    if (!isInside && !continues) break;
    end = at + 1;
  }
  return end;
}

function readTable(lines: readonly string[], at: number): Read {
  const [line = '', below = ''] = lines.slice(at, at + 2);
  if (!isTable(line, below)) return undefined;
  const head = cellsOf(line);
  let next = at + 2;
  while (next < lines.length && (lines[next] ?? '').includes('|')) next++;
  // Each row has as many cells as the head.
  const rows = lines.slice(at + 2, next).map((row) => {
    const cells = cellsOf(row);
    return head.map((_, column) => cells[column] ?? '');
  });
  return [{ kind: 'table', head, rows }, next];
}

function isTable(line: string, below: string): boolean {
  if (!line.includes('|') || !columns.test(below)) return false;
  const { length } = cellsOf(below);
  return length <= columnsMax && length === cellsOf(line).length;
}

function cellsOf(row: string): string[] {
  const inside = row
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}
