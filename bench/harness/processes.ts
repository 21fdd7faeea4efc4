/** CPU and memory of processes, from Linux's /proc. */
import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks a second in /proc on every Linux. */
const ticksPerSecond = 100;

export function rssMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** CPU of a process and of its exited children, in ms, in steps of 10 ms. */
export function cpuMsOf(pid: number): number {
  return (
    fieldsAfterName(pid)
      .slice(11, 15)
      .reduce((sum, ticks) => sum + Number(ticks), 0) *
    (1000 / ticksPerSecond)
  );
}

/** CPU of a process and of all its descendants, in ms, in steps of 10 ms. */
export function cpuMsOfAll(pid: number): number {
  return treeOf(pid).reduce((sum, each) => sum + (unlessEnded(() => cpuMsOf(each)) ?? 0), 0);
}

/** CPU of a process and each of its descendants, in ms, to the nanosecond. */
export function cpuMsByPid(pid: number): Map<number, number> {
  const times = new Map<number, number>();
  for (const each of treeOf(pid)) {
    const [nanoseconds] =
      unlessEnded(() => readFileSync(`/proc/${each}/schedstat`, 'utf8'))?.split(' ') ?? [];
    if (nanoseconds !== undefined) times.set(each, Number(nanoseconds) / 1e6);
  }
  return times;
}

/** The ids of a process and of all its descendants. */
function treeOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = unlessEnded(() => Number(fieldsAfterName(Number(name))[1]));
    if (parent !== undefined) parents.set(Number(name), parent);
  }
  const isBelow = (process: number | undefined): boolean =>
    process === pid || (process !== undefined && isBelow(parents.get(process)));
  return [...parents.keys()].filter(isBelow);
}

/** The fields from the state on. They follow the name, which may contain any character. */
function fieldsAfterName(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
}

/** A process may exit between listing and reading. */
function unlessEnded<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
