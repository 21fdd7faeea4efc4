/**
 * What Parley costs, beside what it could cost at least and what others cost: see README.md in this folder.
 *
 *   npm run bench                      all groups, under ten minutes of an otherwise idle machine
 *   npm run bench -- --group NAME      one group; may be given several times
 *   npm run bench -- --short           that the bench works, under a minute and under any load; its figures say nothing
 *   npm run bench -- --anyway          also on a machine that has other work
 *   npm run bench -- --out FOLDER      where figures and charts go; default: bench/results, for a short run none
 *
 * Exit codes: 0 done, 1 failed, 2 not understood, 3 refused as the machine has other work.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { groups } from './groups/index.ts';
import { judge } from './harness/aims.ts';
import { measureLoad, percent, reasonToRefuse } from './harness/machine.ts';
import type { Comparison, GroupResult } from './harness/result.ts';
import { aimTable, comparisonTable, factTable } from './harness/table.ts';
import { type Run, writeAims, writeGroup } from './harness/write-results.ts';

const [failed, notUnderstood, refused] = [1, 2, 3];
const print = (line: string) => process.stdout.write(`${line}\n`);
const say = (line: string) => process.stderr.write(`  ${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      group: { type: 'string', multiple: true, default: [] },
      short: { type: 'boolean', default: false },
      anyway: { type: 'boolean', default: false },
      out: { type: 'string' },
    },
  });
  const unknown = values.group.find((wanted) => !groups.some(({ name }) => name === wanted));
  if (unknown !== undefined) {
    throw new Error(`There is no group ${unknown}, but ${groups.map(({ name }) => name).join(', ')}.`);
  }
  const chosen = groups.filter(({ name }) => values.group.length === 0 || values.group.includes(name));
  const out = values.out ?? (values.short ? undefined : join(import.meta.dirname, 'results'));
  return { ...values, out, chosen };
}

type Options = ReturnType<typeof readOptions>;

async function main(options: Options): Promise<number> {
  const load = await measureLoad();
  const reason = options.short ? undefined : reasonToRefuse(load);
  if (reason !== undefined && !options.anyway) {
    say(
      `This machine has other work: ${reason}. Figures of now would say little; --anyway measures all the same.`,
    );
    return refused;
  }
  const run: Run = { startedAt: new Date(), load, short: options.short };
  print(
    `${run.startedAt.toISOString()}, ${percent(load.idleShare)} idle, load ${load.loadAverage.toFixed(1)}`,
  );
  if (reason !== undefined) print(`Measured although ${reason}: trust ratios and CPU, not times.`);
  if (options.short) print('A short run: it shows that the bench works. Its figures say nothing.');
  const comparisons = await runGroups(options, run);
  const verdicts = judge(options.short ? [] : comparisons);
  print(`\n## Aims\n\n${aimTable(verdicts)}`);
  const isWhole = options.group.length === 0;
  if (options.out !== undefined && isWhole) writeAims(options.out, verdicts, run);
  say(`done in ${Math.round((Date.now() - run.startedAt.getTime()) / 1000)} s`);
  return 0;
}

async function runGroups({ chosen, short, out }: Options, run: Run): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  const cacheDir = join(import.meta.dirname, '.cache');
  for (const group of chosen) {
    say(`${group.title}:`);
    const result = await group.run({ short, cacheDir, say: (line) => say(`  ${line}`) });
    printGroup(group.title, result);
    if (out !== undefined) writeGroup(out, group, result, run);
    comparisons.push(...result.comparisons);
  }
  return comparisons;
}

function printGroup(title: string, { comparisons, facts, notes }: GroupResult): void {
  print(`\n## ${title}\n`);
  if (comparisons.length > 0) print(comparisonTable(comparisons));
  if (facts.length > 0) print(factTable(facts));
  for (const note of notes) print(`- ${note}`);
}

// The servers end with this process, also when it is told to end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(failed));

let options: Options | undefined;
try {
  options = readOptions();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
}
process.exit(options === undefined ? notUnderstood : await main(options));
