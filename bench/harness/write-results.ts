/** Writes the samples and the charts of each group. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chartOf } from './charts.ts';
import { describeMachine, type MachineLoad } from './machine.ts';
import type { Group, GroupResult } from './result.ts';

export interface Run {
  readonly startedAt: Date;
  readonly load: MachineLoad;
  readonly short: boolean;
  readonly quick: boolean;
}

export function writeGroup(folder: string, group: Group, result: GroupResult, run: Run): void {
  const { name, title, method, charts } = group;
  const { startedAt, load: loadAtStart, short, quick } = run;
  const about = { title, method, startedAt, short, quick, machine: describeMachine(), loadAtStart };
  // Numbers have five digits.
  const digits = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(5)) : value;
  writeRaw(folder, `${name}.json`, `${JSON.stringify({ ...about, ...result }, digits, 2)}\n`);
  for (const chart of charts) {
    const drawn = chartOf(chart, result.comparisons);
    if (drawn !== undefined) writeFileSync(join(folder, `${chart.name}.svg`), drawn);
  }
}

/** @param printed the lines of the whole run */
export function writeTables(folder: string, printed: readonly string[]): void {
  writeRaw(folder, 'tables.md', `# Tables\n\n${printed.join('\n')}\n`);
}

/** Git ignores these files: only charts are kept. */
function writeRaw(folder: string, name: string, content: string): void {
  mkdirSync(join(folder, 'raw'), { recursive: true });
  writeFileSync(join(folder, 'raw', name), content);
}
