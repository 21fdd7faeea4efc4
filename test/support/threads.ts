import type { Worker } from 'node:worker_threads';

const running = new Set<Worker>();

process.on('worker', (thread) => {
  running.add(thread);
  thread.once('exit', () => running.delete(thread));
});

/** The worker threads of this process with this entry, from the import of this file on. */
export function runningThreads(entry: string): Worker[] {
  return [...running].filter(({ threadName }) => threadName === entry);
}
