/** Draws one chart for each group: the ratio of each comparison, on a logarithmic scale. */
import { aims } from './aims.ts';
import type { Comparison } from './result.ts';
import { ratioOf, threeDigits } from './statistics.ts';

const [labelWidth, plotWidth, valueWidth] = [440, 420, 150];
const [rowHeight, headHeight, footHeight] = [22, 48, 30];
const width = labelWidth + plotWidth + valueWidth;

/** @returns an SVG document. `comparisons` must not be empty. */
export function chart(title: string, comparisons: readonly Comparison[]): string {
  const scale = scaleFor(comparisons);
  const bottom = headHeight + comparisons.length * rowHeight;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${bottom + footHeight}" font-family="sans-serif" font-size="12" role="img" aria-label="${escaped(title)}">`,
    `<title>${escaped(title)}</title>`,
    '<rect width="100%" height="100%" fill="white"/>',
    text(12, 20, title, 'font-size="15" font-weight="bold"'),
    text(
      12,
      38,
      'Parley divided by its yardstick: median, least and most of all rounds; red is an aim',
      'fill="#555"',
    ),
    ...scale.ticks.map((tick) => gridLine(scale.x(tick), bottom, tick)),
    ...comparisons.map((comparison, row) => bar(comparison, headHeight + row * rowHeight, scale.x)),
    '</svg>\n',
  ].join('\n');
}

interface Scale {
  readonly ticks: readonly number[];
  x(ratio: number): number;
}

/** The scale begins and ends at a power of two. */
function scaleFor(comparisons: readonly Comparison[]): Scale {
  const shown = comparisons.flatMap((comparison) => {
    const { least, most } = ratioOf(comparison);
    return [least, most, aimOf(comparison) ?? 1].filter((value) => value > 0 && Number.isFinite(value));
  });
  const low = Math.floor(Math.log2(Math.min(0.5, ...shown)));
  const high = Math.ceil(Math.log2(Math.max(2, ...shown)));
  return {
    ticks: Array.from({ length: high - low + 1 }, (_, index) => 2 ** (low + index)),
    x: (ratio) => labelWidth + ((Math.log2(Math.max(ratio, 2 ** low)) - low) / (high - low)) * plotWidth,
  };
}

function bar(comparison: Comparison, top: number, x: Scale['x']): string {
  const ratio = ratioOf(comparison);
  const [even, middle, end] = [x(1), top + rowHeight / 2, x(ratio.median)];
  const aim = aimOf(comparison);
  return [
    text(
      labelWidth - 8,
      middle + 4,
      `${comparison.name}, ${comparison.unit} · ${comparison.yardstick}`,
      'text-anchor="end" font-size="10"',
    ),
    `<rect x="${Math.min(even, end).toFixed(1)}" y="${top + 4}" width="${Math.max(1, Math.abs(end - even)).toFixed(1)}" height="${rowHeight - 8}" fill="#4a7fb5"/>`,
    line(x(ratio.least), x(ratio.most), middle, middle, '#222'),
    aim === undefined ? '' : line(x(aim), x(aim), top + 1, top + rowHeight - 1, '#d22'),
    text(
      labelWidth + plotWidth + 10,
      middle + 4,
      `${threeDigits(ratio.median)} (${threeDigits(ratio.least)} to ${threeDigits(ratio.most)})`,
    ),
  ].join('');
}

const aimOf = ({ aim }: Comparison) => aim && aims[aim].ratio;

function gridLine(x: number, bottom: number, tick: number): string {
  const label = tick >= 1 ? `${tick}` : `1/${1 / tick}`;
  return (
    line(x, x, headHeight, bottom, tick === 1 ? '#222' : '#ddd') +
    text(x, bottom + 16, label, 'text-anchor="middle"')
  );
}

const line = (x1: number, x2: number, y1: number, y2: number, color: string) =>
  `<line x1="${x1.toFixed(1)}" x2="${x2.toFixed(1)}" y1="${y1}" y2="${y2}" stroke="${color}"/>`;

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${x.toFixed(1)}" y="${y}" ${attributes}>${escaped(content)}</text>`;
}

const escaped = (content: string) =>
  content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
