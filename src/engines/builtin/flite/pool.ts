import { createThreadPool, siblingWorker, type ThreadPool } from '../../../threads/pool.ts';
import type { SpokenPiece } from './synthesis.ts';

export interface FlitePoolOptions {
  /** Maximum number of worker threads, at least 1. */
  readonly threads: number;
  /** Maximum number of requests whose first piece waits for a thread. Default 64: some 3 s of waiting with two threads. */
  readonly requestsWaitingMax?: number;
}

/** Maximum number of requests being spoken, slow readers included. Each holds up to some 2 MB of sound. */
const requestsOpenMax = 256;
/** Limit of CPU time for a piece. A sentence takes 100 ms, the slowest gibberish 2 s. */
const pieceCpuMsMax = 10_000;

/**
 * Speaks pieces of text, grouped by request. When a request leaves, its running piece finishes (some 50 ms); replacing
 * the thread would take 200 ms.
 */
export type FlitePool = ThreadPool<SpokenPiece, Int16Array>;

export function createFlitePool(options: FlitePoolOptions): FlitePool {
  return createThreadPool({
    entry: siblingWorker(import.meta.url, 'flite-worker'),
    threads: options.threads,
    taskCpuMsMax: pieceCpuMsMax,
    waitingMax: options.requestsWaitingMax ?? 64,
    openMax: requestsOpenMax,
  });
}
