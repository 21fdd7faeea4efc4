/**
 * Runs the bench that README.md in this folder describes, options included. Short and quick runs write no files without `--out`.
 *
 * Exit codes: 0 done, 1 failed, 2 wrong options, 3 the machine is not idle.
 */
import { join } from 'node:path';
import { inspect, parseArgs } from 'node:util';
import { groups } from './groups/index.ts';
import { judge, type Verdict } from './harness/aims.ts';
import { measureLoad, percent, reasonToRefuse } from './harness/machine.ts';
import { whatToInstall } from './harness/needs.ts';
import type { GroupResult, RunningPeer } from './harness/result.ts';
import { aimTable, comparisonTable, factTable, threadTable } from './harness/table.ts';
import { type Run, writeGroup, writeTables } from './harness/write-results.ts';

const [failed, wrongOptions, notIdle] = [1, 2, 3];
const printed: string[] = [];
function print(line: string): void {
  printed.push(line);
  process.stdout.write(`${line}\n`);
}
const say = (line: string) => process.stderr.write(`  ${line}\n`);

function readOptions() {
  const { values } = parseArgs({
    options: {
      group: { type: 'string', multiple: true, default: [] },
      short: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      anyway: { type: 'boolean', default: false },
      out: { type: 'string' },
      peer: { type: 'string', multiple: true, default: [] },
      'upstream-port': { type: 'string' },
    },
  });
  const unknown = values.group.find((wanted) => !groups.some(({ name }) => name === wanted));
  if (unknown !== undefined) {
    throw new Error(`Unknown group ${unknown}. Groups: ${groups.map(({ name }) => name).join(', ')}.`);
  }
  const chosen = groups.filter(({ name }) => values.group.length === 0 || values.group.includes(name));
  const out = values.out ?? (values.short || values.quick ? undefined : join(import.meta.dirname, 'results'));
  const peers = values.peer.map(readPeer);
  const { 'upstream-port': port } = values;
  return { ...values, peers, upstreamPort: port === undefined ? undefined : Number(port), out, chosen };
}

function readPeer(option: string): RunningPeer {
  const [name, pid, origin, key, model] = option.split(',');
  if (!name || !Number(pid) || !origin || !key || !model) {
    throw new Error(`Not a peer: ${option}. Write NAME,PID,ORIGIN,KEY,MODEL.`);
  }
  return { name, pid: Number(pid), origin, key, model };
}

type Options = ReturnType<typeof readOptions>;

async function main(options: Options): Promise<number> {
  const load = await measureLoad();
  const reason = options.short ? undefined : reasonToRefuse(load);
  if (reason !== undefined && !options.anyway) {
    say(`The machine is not idle: ${reason}. Use --anyway to measure all the same.`);
    return notIdle;
  }
  const run: Run = { startedAt: new Date(), load, short: options.short, quick: options.quick };
  print(
    `${run.startedAt.toISOString()}, ${percent(load.idleShare)} idle, load ${load.loadAverage.toFixed(1)}`,
  );
  if (reason !== undefined) print(`Measured although ${reason}: trust ratios and CPU, not times.`);
  if (options.short) print('A short run: it shows that the bench works. Its figures say nothing.');
  const figures = await runGroups(options, run);
  const verdicts = judge(options.short ? { comparisons: [], facts: [] } : figures);
  const isWhole = options.group.length === 0;
  const isShown = ({ measured }: Verdict) => isWhole || measured !== undefined;
  print(`\n## Aims\n\n${aimTable(verdicts.filter(isShown))}`);
  printMissed(verdicts);
  if (options.out !== undefined && isWhole) writeTables(options.out, printed);
  say(`done in ${Math.round((Date.now() - run.startedAt.getTime()) / 1000)} s`);
  return figures.hasFailed ? failed : 0;
}

function printMissed(verdicts: readonly Verdict[]): void {
  const missed = verdicts.filter(({ isMissed }) => isMissed);
  print(missed.length === 0 ? 'No measured aim is missed.' : 'Missed:');
  for (const { what, verdict } of missed) print(`- ${what} (${verdict})`);
}

async function runGroups({ chosen, short, quick, peers, upstreamPort, out }: Options, run: Run) {
  const results: GroupResult[] = [];
  const cacheDir = join(import.meta.dirname, '.cache');
  for (const group of chosen) {
    say(`${group.title}:`);
    const setting = { short, quick, cacheDir, peers, upstreamPort, say: (line: string) => say(`  ${line}`) };
    const missing = whatToInstall(group.needs ?? []);
    const result = missing === undefined ? await group.run(setting).catch(failureOf) : leftOut(missing);
    printGroup(group.title, result);
    if (out !== undefined && missing === undefined && !result.hasFailed) writeGroup(out, group, result, run);
    results.push(result);
  }
  return {
    hasFailed: results.some(({ hasFailed }) => hasFailed),
    comparisons: results.flatMap(({ comparisons }) => comparisons),
    facts: results.flatMap(({ facts }) => facts),
  };
}

const leftOut = (why: string): GroupResult => ({ comparisons: [], facts: [], notes: [why] });

/** The other groups are measured all the same. */
function failureOf(error: unknown): GroupResult {
  process.stderr.write(`${inspect(error)}\n`);
  const reason = error instanceof Error ? error.message : String(error);
  return { ...leftOut(`This group failed: ${reason}`), hasFailed: true };
}

function printGroup(title: string, { comparisons, facts, threads = [], notes }: GroupResult): void {
  print(`\n## ${title}\n`);
  if (comparisons.length > 0) print(comparisonTable(comparisons));
  if (facts.length > 0) print(factTable(facts));
  if (threads.length > 0) print(threadTable(threads));
  for (const note of notes) print(`- ${note}`);
}

// Exiting disconnects the servers, which then exit too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(failed));

let options: Options | undefined;
try {
  options = readOptions();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
}
process.exit(options === undefined ? wrongOptions : await main(options));
