import type { SpeechRequest } from '../../../core/entities/engine.ts';
import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { createThreadPool, siblingWorker, type ThreadPool } from '../../../threads/pool.ts';
import type { TextPiece } from './pieces.ts';

/** CPU time limit for a text. The slowest text of 4,000 characters takes some 60 ms. */
const textCpuMsMax = 10_000;

/** Prepares texts in a thread, as names of characters can make a text as long as a book. */
export interface Texts {
  /** Prepared once for both uses by a request: the check and the synthesis. */
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
    message: '`input` has nothing that can be spoken: send words or numbers.',
    param: 'input',
  });
}
