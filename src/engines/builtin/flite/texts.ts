import type { SpeechRequest } from '../../../core/entities/engine.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { createThreadPool, siblingWorker, type ThreadPool } from '../../../threads/pool.ts';
import type { TextPiece } from './pieces.ts';

/** Limit of CPU time for a text. The slowest of 4,000 characters takes some 60 ms. */
const textCpuMsMax = 10_000;

/** Prepares texts in a thread: names of characters make some as long as a book. */
export interface Texts {
  /** The same for both uses of a request, its check and its synthesis. */
  piecesOf(request: SpeechRequest, signal: Signal): Promise<readonly TextPiece[]>;
  close(): Promise<void>;
}

export function createTexts(waitingMax: number): Texts {
  const pool: ThreadPool<string, readonly TextPiece[]> = createThreadPool({
    entry: siblingWorker(import.meta.url, 'text-worker'),
    threads: 1,
    taskCpuMsMax: textCpuMsMax,
    waitingMax,
  });
  const known = new WeakMap<SpeechRequest, readonly TextPiece[]>();
  return {
    async piecesOf(request, signal) {
      const group = known.has(request) ? undefined : pool.enter(signal);
      const pieces = (await group?.run(request.input).finally(group.leave)) ?? known.get(request) ?? [];
      if (pieces.length === 0) throw nothingToSay();
      known.set(request, pieces);
      return pieces;
    },
    close: () => pool.close(),
  };
}

function nothingToSay(): ParleyError {
  return new ParleyError('invalid_input', {
    message: '`input` has nothing that can be said: send words or numbers.',
    param: 'input',
  });
}
