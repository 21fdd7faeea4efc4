/** Draws bars to the right of a line, each with the spread of its rounds and its aim. Right is better. */

export interface Bar {
  readonly label: string;
  /** 1 is as good as the yardstick, 2 twice as good. */
  readonly score: number;
  readonly least: number;
  readonly most: number;
  /** The score from which on the aim is met. */
  readonly aim?: number;
  /** Figures behind the bar. */
  readonly note: string;
  readonly isPeer?: boolean;
}

export interface Drawing {
  readonly title: string;
  readonly subtitle: string;
  readonly bars: readonly Bar[];
}

const [plotWidth, rowHeight, headHeight, footHeight] = [380, 30, 64, 30];
/** The width of a letter in the average text. */
const letterWidth = 6.9;
const [ink, faint, green, aimed] = ['#1c2733', '#66727f', '#2f9e44', '#d9f0dd'];
const fills = { met: '#2563a8', missed: '#d9822b', peer: '#a3adb8' };

/** @returns an SVG document. There must be bars. */
export function draw({ title, subtitle, bars }: Drawing): string {
  const left = widest(bars.map(({ label }) => label)) + 24;
  const width = left + plotWidth + widest(bars.map(({ note }) => note)) + 24;
  const max = Math.max(1, ...bars.flatMap(({ score, aim = 0 }) => [score, aim])) * 1.2;
  const scale: Scale = { max, x: (score) => left + (Math.min(score, max) / max) * plotWidth };
  const bottom = headHeight + bars.length * rowHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${bottom + footHeight}" font-family="sans-serif" font-size="13" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    text(16, 24, title, `font-size="16" font-weight="bold" fill="${ink}"`),
    text(16, 44, subtitle, `fill="${faint}"`),
    ...bars.map((bar, row) => zone(bar, headHeight + row * rowHeight, scale)),
    ...ticksTo(max).map((tick) => tickLine(tick, scale.x(tick), bottom)),
    ...bars.map((bar, row) => drawBar(bar, headHeight + row * rowHeight, scale)),
    '</svg>\n',
  ].join('');
}

const widest = (texts: readonly string[]) => Math.max(...texts.map(({ length }) => length)) * letterWidth;

interface Scale {
  readonly max: number;
  x(score: number): number;
}

function zone({ aim }: Bar, top: number, { x, max }: Scale): string {
  return aim === undefined ? '' : rect(x(aim), top, x(max) - x(aim), rowHeight, aimed);
}

function drawBar(bar: Bar, top: number, { x, max }: Scale): string {
  const { label, score, least, most, aim = 0, note, isPeer } = bar;
  const [left, right, middle] = [x(0), x(max), top + rowHeight / 2];
  const fill = isPeer ? fills.peer : score < aim ? fills.missed : fills.met;
  return [
    text(left - 10, middle + 4.5, label, `text-anchor="end" fill="${ink}"`),
    rect(left, top + 7, Math.max(1, x(score) - left), rowHeight - 14, fill),
    line(x(least), x(most), middle, middle, ink),
    aim === 0 ? '' : line(x(aim), x(aim), top, top + rowHeight, green, 2),
    text(right + 12, middle + 4.5, note, `fill="${faint}" font-size="12"`),
  ].join('');
}

/** At most nine ticks: 0, 0.25 ...; 0, 2 ...; 0, 10 ... */
function ticksTo(max: number): number[] {
  const step = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100].find((each) => max / each <= 8) ?? max;
  return Array.from({ length: Math.floor(max / step) + 1 }, (_, index) => index * step);
}

function tickLine(tick: number, x: number, bottom: number): string {
  const color = tick === 1 ? ink : '#e3e7eb';
  const label = text(
    x,
    bottom + 18,
    `${Number(tick.toFixed(2))}`,
    `text-anchor="middle" fill="${faint}" font-size="12"`,
  );
  return line(x, x, headHeight, bottom, color) + label;
}

const rect = (x: number, y: number, wide: number, high: number, fill: string) =>
  `<rect x="${x.toFixed(1)}" y="${y}" width="${wide.toFixed(1)}" height="${high}" fill="${fill}"/>`;

const line = (x1: number, x2: number, y1: number, y2: number, color: string, thick = 1) =>
  `<line x1="${x1.toFixed(1)}" x2="${x2.toFixed(1)}" y1="${y1}" y2="${y2}" stroke="${color}" stroke-width="${thick}"/>`;

function text(x: number, y: number, content: string, attributes: string): string {
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes}>${escaped(content)}</text>`;
}

const escaped = (content: string) =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
