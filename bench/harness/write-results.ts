/** Writes the figures and the chart of each group. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Verdict } from './aims.ts';
import { chartOf, chartOfAims } from './charts.ts';
import { describeMachine, type MachineLoad } from './machine.ts';
import type { Group, GroupResult } from './result.ts';

export interface Run {
  readonly startedAt: Date;
  readonly load: MachineLoad;
  readonly short: boolean;
  readonly quick: boolean;
}

export function writeGroup(folder: string, group: Group, result: GroupResult, run: Run) {
  const { name, title, method, charts } = group;
  writeJson(join(folder, `${name}.json`), { title, method, ...describe(run), ...result });
  for (const chart of charts) writeChart(folder, chart.name, chartOf(chart, result.comparisons));
}

export function writeAims(folder: string, verdicts: readonly Verdict[], run: Run): void {
  writeJson(join(folder, 'aims.json'), { ...describe(run), aims: verdicts });
  writeChart(folder, 'aims', chartOfAims(verdicts));
}

/** @param printed the lines of the whole run */
export function writeTables(folder: string, printed: readonly string[]): void {
  writeFileSync(join(folder, 'tables.md'), `# Tables\n\n${printed.join('\n')}\n`);
}

function writeChart(folder: string, name: string, chart: string | undefined): void {
  if (chart !== undefined) writeFileSync(join(folder, `${name}.svg`), chart);
}

const describe = ({ startedAt, load, short, quick }: Run) => ({
  startedAt: startedAt.toISOString(),
  short,
  quick,
  machine: describeMachine(),
  loadAtStart: load,
});

/** Rounds numbers to five digits. Formats with Biome where it is installed, as the results are committed. */
function writeJson(file: string, content: object): void {
  mkdirSync(join(file, '..'), { recursive: true });
  const digits = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(5)) : value;
  writeFileSync(file, `${JSON.stringify(content, digits, 2)}\n`);
  spawnSync('biome', ['format', '--write', file], { stdio: 'ignore' });
}
