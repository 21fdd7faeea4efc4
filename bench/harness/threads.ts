/** Threads of a process, and their CPU by kind, from Linux's /proc. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ThreadTimes {
  /** The thread that runs the event loop. */
  readonly main: number;
  /** V8's helpers, which compile and collect garbage in turn on the same threads. */
  readonly v8: number;
  /** The pool of libuv: files and name look-ups. */
  readonly libuv: number;
  /** Worker threads. */
  readonly other: number;
}

export const threadKinds = ['main', 'v8', 'libuv', 'other'] as const satisfies (keyof ThreadTimes)[];

/** @returns the CPU that each kind has used so far, user and system, in ms */
export function threadTimesOf(pid: number): ThreadTimes {
  const times = { main: 0, v8: 0, libuv: 0, other: 0 };
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${thread}`;
    try {
      const [nanoseconds = ''] = readFileSync(`${folder}/schedstat`, 'utf8').split(' ');
      times[kindOf(thread, pid, readFileSync(`${folder}/comm`, 'utf8'))] += Number(nanoseconds) / 1e6;
    } catch {
      // A thread may end between listing and reading.
    }
  }
  return times;
}

/** Resolves once no thread runs, waits for a core, or writes to a disk: the process has done all that it was asked to do. */
export async function untilIdle(pid: number): Promise<void> {
  do await sleep(5);
  while (readdirSync(`/proc/${pid}/task`).some((thread) => isBusy(`/proc/${pid}/task/${thread}/stat`)));
}

function isBusy(path: string): boolean {
  try {
    const stat = readFileSync(path, 'utf8');
    return /^[RD]/.test(stat.slice(stat.lastIndexOf(') ') + 2));
  } catch {
    // A thread may end between listing and reading.
    return false;
  }
}

function kindOf(thread: string, pid: number, name: string): keyof ThreadTimes {
  if (thread === `${pid}`) return 'main';
  if (name.startsWith('V8Worker') || name.startsWith('DelayedTaskSche')) return 'v8';
  return name.startsWith('libuv-worker') ? 'libuv' : 'other';
}

export const allOf = (times: ThreadTimes): number => threadKinds.reduce((sum, kind) => sum + times[kind], 0);

/** Applies `work` to the times of each kind. */
export function mapTimes(work: (kind: keyof ThreadTimes) => number): ThreadTimes {
  return { main: work('main'), v8: work('v8'), libuv: work('libuv'), other: work('other') };
}
