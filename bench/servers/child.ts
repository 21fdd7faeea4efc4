/** A server in a child process, seen from the benchmark that starts it. */
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Started } from './parent.ts';

export interface Served extends Started {
  /** CPU used so far, all threads, in ms. */
  cpuMs(): Promise<number>;
  rssMiB(): number;
  stop(): void;
}

const canPin = spawnSync('taskset', ['-V']).error === undefined;

/** @param core the only core that it may use, where `taskset` is installed */
export async function startChild(name: string, args: readonly string[] = [], core?: number): Promise<Served> {
  const pinned = canPin &&
    core !== undefined && { execPath: 'taskset', execArgv: ['-c', String(core), process.execPath] };
  const child = fork(new URL(`./${name}.ts`, import.meta.url), args, pinned || {});
  const [started] = (await once(child, 'message')) as [Started];
  return {
    ...started,
    async cpuMs() {
      child.send('cpu');
      const [{ cpuMs }] = (await once(child, 'message')) as [{ cpuMs: number }];
      return cpuMs;
    },
    rssMiB: () => rssMiB(child),
    stop: () => child.disconnect(),
  };
}

function rssMiB({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
