import { styleText } from 'node:util';
import { printable } from './terminal.ts';

/** The column whose cells have the color of their state. */
const stateTitle = 'STATE';
/** An empty cell. */
const nothing = '-';

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string | undefined;
  /** For numbers. Default: left */
  readonly align?: 'right';
  /** Whether a terminal that is too narrow may get only the beginning of each cell. Default: false */
  readonly mayClip?: boolean;
}

/** Less of a cell says nothing. */
const clippedMin = 12;

/**
 * Rows in aligned columns under a line of titles. A terminal that is too narrow gets a block of lines for each row.
 * Each line ends with a line feed.
 *
 * @param lineMax in characters. Default: the width of the terminal, or no limit elsewhere
 */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  lineMax = process.stdout.columns ?? Number.POSITIVE_INFINITY,
): string {
  const whole = columns.map(({ title, cell }) => [title, ...rows.map((row) => shown(cell(row)))]);
  const wanted = whole.map((column) => Math.max(...column.map((text) => text.length)));
  const excess = wanted.reduce((sum, width) => sum + width, 2 * (columns.length - 1)) - lineMax;
  const clipped = (width: number, at: number) =>
    columns[at]?.mayClip === true && excess > 0 ? Math.max(clippedMin, width - excess) : width;
  const widths = wanted.map(clipped);
  const cells = whole.map((column, at) => column.map((text) => clip(text, widths[at] ?? 0)));
  const saved = wanted.reduce((sum, width, at) => sum + width - (widths[at] ?? 0), 0);
  if (rows.length > 0 && excess > saved) {
    return rows
      .map((row) => facts(columns.map(({ title, cell }) => [title.toLowerCase(), cell(row)])))
      .join('\n');
  }
  const line = (index: number) =>
    columns
      .map(({ title, align }, at) => {
        const text = cells[at]?.[index] ?? '';
        // Blanks at the end of a line are cut, so they have no color.
        const blanks = ' '.repeat((widths[at] ?? 0) - text.length);
        if (align === 'right') return blanks + text;
        return (title === stateTitle && index > 0 ? stateColored(text) : text) + blanks;
      })
      .join('  ')
      .trimEnd();
  return [undefined, ...rows].map((_, index) => `${line(index)}\n`).join('');
}

function clip(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text;
}

/** One line per fact, with aligned values. */
export function facts(entries: readonly (readonly [name: string, value: string | undefined])[]): string {
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries
    .map(([name, value]) => {
      const text = shown(value);
      return `${name.padEnd(width)}  ${name.toUpperCase() === stateTitle ? stateColored(text) : text}\n`;
    })
    .join('');
}

function shown(value: string | undefined): string {
  const text = printable(value ?? '').replace(/\s+/g, ' ');
  return text === '' ? nothing : text;
}

const colors = {
  green: ['ok', 'live', 'up', 'ready', 'busy', 'alive', 'delivered'],
  yellow: [
    'warning',
    'late',
    'expired',
    'suspended',
    'refused',
    'cancelled',
    'waiting',
    'loading',
    'pending',
  ],
  red: ['problem', 'failed', 'interrupted', 'revoked', 'down', 'dead'],
} as const;

const colorOf: ReadonlyMap<string, keyof typeof colors> = new Map(
  (['green', 'yellow', 'red'] as const).flatMap((color) => colors[color].map((state) => [state, color])),
);

/**
 * The text in the color of its state. Only on a terminal with colors, and without the variable NO_COLOR.
 * @param text the state, with blanks around it
 */
export function stateColored(text: string): string {
  const color = colorOf.get(text.trim());
  return color === undefined ? text : styleText(color, text, { stream: process.stdout });
}
