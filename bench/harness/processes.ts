/** What Linux tells of a process and of those that it has started. */
import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks a second in /proc, on every Linux there is. */
const ticksPerSecond = 100;

export function rssMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

/** CPU that a process has used, with that of its children that have ended, in ms and in steps of 10 ms. */
export function cpuMsOf(pid: number): number {
  return (
    fieldsAfterName(pid)
      .slice(11, 15)
      .reduce((sum, ticks) => sum + Number(ticks), 0) *
    (1000 / ticksPerSecond)
  );
}

/** The same of a process and all that it has started, at any remove. */
export function cpuMsOfTree(pid: number): number {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = unlessEnded(() => Number(fieldsAfterName(Number(name))[1]));
    if (parent !== undefined) parents.set(Number(name), parent);
  }
  const isBelow = (process: number | undefined): boolean =>
    process === pid || (process !== undefined && isBelow(parents.get(process)));
  return [...parents.keys()]
    .filter(isBelow)
    .reduce((sum, each) => sum + (unlessEnded(() => cpuMsOf(each)) ?? 0), 0);
}

/** State, parent and so on: what stands behind the name, which may hold anything. */
function fieldsAfterName(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
}

/** A process may end between the listing and the reading. */
function unlessEnded<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
