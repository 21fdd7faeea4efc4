import { openSync, readSync } from 'node:fs';

/** Returns a function that reads how long the main thread of a process has waited for a core so far, in ms (Linux's `schedstat`). */
export function waitForCore(pid: number): () => number {
  const file = openSync(`/proc/${pid}/task/${pid}/schedstat`, 'r');
  const buffer = Buffer.alloc(128);
  return () => {
    const length = readSync(file, buffer, 0, buffer.length, 0);
    return Number(buffer.toString('latin1', 0, length).split(' ')[1]) / 1e6;
  };
}
