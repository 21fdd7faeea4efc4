/** Markdown tables, for the terminal and the README. */
import type { Verdict } from './aims.ts';
import type { Comparison, Fact, ThreadCosts } from './result.ts';
import { least, median, most, ratioOf, threeDigits } from './statistics.ts';
import { threadKinds } from './threads.ts';

type Row = readonly string[];

export function comparisonTable(comparisons: readonly Comparison[]): string {
  const rows = comparisons.map((comparison) => {
    const { name, who = 'Parley', yardstick, unit, ours, theirs } = comparison;
    const ratio = ratioOf(comparison);
    return [
      name,
      who,
      yardstick,
      threeDigits(ratio.median),
      `${threeDigits(ratio.least)} to ${threeDigits(ratio.most)}`,
      threeDigits(median(ours)),
      threeDigits(median(theirs)),
      unit,
    ];
  });
  return table(['', 'who', 'against', 'ratio', 'spread', 'its own', 'yardstick', 'unit'], rows);
}

export function factTable(facts: readonly Fact[]): string {
  const rows = facts.map(({ name, unit, values }) => [
    name,
    threeDigits(median(values)),
    values.length > 1 ? `${threeDigits(least(values))} to ${threeDigits(most(values))}` : '',
    unit,
  ]);
  return table(['context', 'median', 'spread', 'unit'], rows);
}

export function threadTable(threads: readonly ThreadCosts[]): string {
  const rows = threads.map(({ name, slices }) => [
    name,
    ...threadKinds.map((kind) =>
      threeDigits(median(slices.map(({ threadUsPerCall }) => threadUsPerCall[kind]))),
    ),
    threeDigits(median(slices.map(({ cpuUsPerCall }) => cpuUsPerCall))),
    threeDigits(median(slices.map(({ cpuUsPerCall, perSecond }) => (cpuUsPerCall * perSecond) / 1e6))),
  ]);
  return table(['µs CPU a request', 'main', 'V8', 'libuv', 'workers', 'all', 'cores in use'], rows);
}

export function aimTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ what, bound, limit, unit = '', measured, verdict }) => [
    what,
    `${bound} ${limit} ${unit}`.trim(),
    measured ? threeDigits(measured.median) : '',
    measured ? `${threeDigits(measured.least)} to ${threeDigits(measured.most)}` : '',
    verdict,
  ]);
  return table(['', 'aim', 'measured', 'spread', ''], rows);
}

function table(head: Row, rows: readonly Row[]): string {
  const widths = head.map((cell, column) =>
    Math.max(3, cell.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (row: Row) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |\n`;
  return line(head) + line(widths.map((width) => '-'.repeat(width))) + rows.map(line).join('');
}
