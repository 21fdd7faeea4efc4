/** Looks at processes as the system lists them. */
import { readdirSync, readFileSync } from 'node:fs';

/** The processes that a server serves with, the oldest first. */
export function workersOf(pid: number): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .map(Number)
    .filter((child) => isWorkerOf(child, pid))
    .toSorted((one, other) => one - other);
}

export function isAlive(pid: number): boolean {
  return !['', 'Z', 'X'].includes(statOf(pid).state);
}

function isWorkerOf(child: number, pid: number): boolean {
  if (statOf(child).parent !== pid || !isAlive(child)) return false;
  return read(`/proc/${child}/cmdline`).includes('serve-worker');
}

function statOf(pid: number): { readonly state: string; readonly parent: number } {
  // The name of a process stands in brackets and may have any character.
  const [state = '', parent = ''] = read(`/proc/${pid}/stat`).split(') ').at(-1)?.split(' ') ?? [];
  return { state, parent: Number(parent) };
}

/** Empty for a process that has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
