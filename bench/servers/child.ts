import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { pinnedTo } from '../harness/cores.ts';
import { rssMiB } from '../harness/processes.ts';
import type { Started } from './parent.ts';

export interface Served extends Started {
  readonly pid: number;
  /** CPU used so far, user and system, of all threads and of those that have ended, in ms. */
  cpuMs(): Promise<number>;
  rssMiB(): number;
  /** Resolves when the process has exited. */
  stop(): Promise<void>;
}

export interface Child extends Served {
  /** Sends a message, one at a time, and returns the answer. Rejects if the process exits. */
  ask(message: object | string): Promise<unknown>;
}

/**
 * Starts `bench/servers/NAME.ts` in a child process.
 *
 * @param core the only core that it may use, or several such as `0,1`, where `taskset` is installed
 * @param env is added to its environment
 */
export async function startChild(
  name: string,
  args: readonly string[] = [],
  core?: number | string,
  env: Readonly<Record<string, string>> = {},
): Promise<Child> {
  const [execPath = process.execPath, ...before] = pinnedTo(core);
  const child = fork(new URL(`./${name}.ts`, import.meta.url), args, {
    execPath,
    execArgv: before.length > 0 ? [...before, process.execPath] : [],
    env: { ...process.env, ...env },
  });
  const started = (await nextMessage(name, child)) as Started;
  const pid = child.pid ?? Number.NaN;
  const ask = (message: object | string) => {
    child.send(message);
    return nextMessage(name, child);
  };
  return {
    ...started,
    pid,
    ask,
    async cpuMs() {
      const { cpuMs } = (await ask('cpu')) as { cpuMs: number };
      return cpuMs;
    },
    rssMiB: () => rssMiB(pid),
    async stop() {
      if (!child.connected) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

async function nextMessage(name: string, child: ChildProcess): Promise<unknown> {
  const listening = new AbortController();
  const { signal } = listening;
  const exited = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`${name} exited with ${code} before it answered`);
  });
  const [started] = await Promise.race([once(child, 'message'), exited]);
  exited.catch(() => undefined);
  listening.abort();
  return started as Started;
}
