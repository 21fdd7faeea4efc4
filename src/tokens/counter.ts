import { ParleyError } from '../core/errors.ts';
import type { CountBounds, TokenCounter } from '../core/ports/engines.ts';
import { createThreadPool, siblingWorker, type ThreadPool } from '../threads/pool.ts';
import { endOfPiece } from './pieces.ts';

/** UTF-16 code units sent to the thread at a time: 4 ms of work for natural text, about 50 ms for the slowest. */
const sliceUnitsMax = 16_384;

/**
 * Counts o200k tokens in one worker thread, which starts with the first count (the vocabulary takes a third of a second
 * and some 60 MB) and ends when idle.
 *
 * A text of up to 512 UTF-16 code units is counted exactly as the tokenizer does, and so is a longer one that has a
 * place to cut in every 512 units, as texts in any language and code do: after a word, a number or before a blank. A
 * longer run without such a place is cut every 512 units, which may change the count by a token or two a cut, more often
 * up than down. Time grows linearly with the length. Special tokens such as `<|endoftext|>` count as plain text,
 * a lone surrogate as U+FFFD.
 *
 * Texts are counted in slices and take turns, so that a huge text delays a short one by one slice.
 * An abort ends the count after the slice that the thread is at. `count` rejects with `internal_error` where the thread dies while it counts the text, or the counter is closed.
 */
export function createTokenCounter(): TokenCounter {
  const pool = createThreadPool<string, number>({
    entry: siblingWorker(import.meta.url, 'counter-worker'),
    threads: 1,
  });
  return { count: (text, bounds = {}) => count(pool, text, bounds), close: () => pool.close() };
}

async function count(
  pool: ThreadPool<string, number>,
  text: string,
  { signal, tokensMax = Number.POSITIVE_INFINITY }: CountBounds,
): Promise<number> {
  if (text === '') return 0;
  try {
    const group = pool.enter(signal);
    try {
      let tokens = 0;
      for (let start = 0; start < text.length && tokens <= tokensMax; ) {
        const end = endOfPiece(text, start, sliceUnitsMax);
        tokens += await group.run(text.slice(start, end));
        start = end;
      }
      return tokens;
    } finally {
      group.leave();
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw new ParleyError('internal_error', { cause });
  }
}
