/** Keeps servers and clients on different cores, so that clients do not take the time of the servers that they measure. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const available = availableParallelism();
const canPin = available > 1 && spawnSync('taskset', ['-V']).error === undefined;

/** Undefined without `taskset` or with one core. */
export const serverCore = canPin ? 0 : undefined;
export const clientCore = canPin ? 1 : undefined;

/** The words before a command that keep it on a core. */
export const pinnedTo = (core: number | string | undefined): string[] =>
  canPin && core !== undefined ? ['taskset', '-c', `${core}`] : [];

/** Runs `work` with this process on the clients' core. Children that it starts without a core stay there too. */
export async function onClientCore<T>(work: () => Promise<T>): Promise<T> {
  if (clientCore === undefined) return work();
  pinThisProcess(`${clientCore}`);
  try {
    return await work();
  } finally {
    pinThisProcess(`0-${available - 1}`);
  }
}

function pinThisProcess(cores: string): void {
  spawnSync('taskset', ['-a', '-p', '-c', cores, `${process.pid}`]);
}
