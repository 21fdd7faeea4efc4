import type { SpeechRequest } from '../../../core/entities/engine.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { createThreadPool, siblingWorker, type ThreadPool } from '../../../threads/pool.ts';
import type { TextPiece } from './pieces.ts';
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

/** CPU time limit for a text. The slowest text of 4,000 characters takes some 60 ms. */
const textCpuMsMax = 10_000;

/** Prepares texts in a thread, as names of characters can make a text as long as a book. */
export function createTexts(waitingMax: number) {
  const pool = createThreadPool<string, readonly TextPiece[]>({
    entry: siblingWorker(import.meta.url, 'text-worker'),
    threads: 1,
    taskCpuMsMax: textCpuMsMax,
    waitingMax,
  });
  const known = new WeakMap<SpeechRequest, readonly TextPiece[]>();
  return {
    /** Prepared once for both uses by a request: the check and the synthesis. */
    async piecesOf(request: SpeechRequest, signal: Signal): Promise<readonly TextPiece[]> {
      const group = known.has(request) ? undefined : pool.enter(signal);
      const pieces = (await group?.run(request.input).finally(group.leave)) ?? known.get(request) ?? [];
      if (pieces.length === 0) {
        const message = '`input` has nothing that can be spoken: send words or numbers.';
        throw new ParleyError('invalid_input', { message, param: 'input' });
      }
      known.set(request, pieces);
      return pieces;
    },
    close: () => pool.close(),
  };
}
