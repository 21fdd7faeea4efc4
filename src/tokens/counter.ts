import type { CountBounds, TokenCounter } from '../core/entities/engine.ts';
import { ParleyError } from '../core/values/errors.ts';
import { createThreadPool, siblingWorker, type ThreadPool } from '../threads/pool.ts';
import { endOfPiece } from './pieces.ts';

/** UTF-16 code units sent to the thread at a time: 4 ms of work for natural text, about 50 ms for the slowest. */
const sliceUnitsMax = 16_384;
/** Texts sent at a time: some 2 ms of work for short ones. */
const sliceTextsMax = 256;
/** Maximum number of waiting and running counts, except counts on which money depends. */
const countsMax = 1024;

/**
 * Counts o200k tokens in one worker thread, which starts with the first count and ends when idle. The result is exact
 * for any text with a place to cut in every 512 UTF-16 units, as natural text and code have. A longer run is cut
 * anyway, which may change the count by a token or two a cut. Special tokens such as `<|endoftext|>` count as plain
 * text. Accounts take turns in slices, and so do the requests of one, so that a huge text delays a short one by one
 * slice.
 */
export function createTokenCounter(): TokenCounter {
  const pool = createThreadPool<readonly string[], number>({
    entry: siblingWorker(import.meta.url, 'counter-worker'),
    threads: 1,
    openMax: countsMax,
  });
  return { count: (text, bounds = {}) => count(pool, text, bounds), close: () => pool.close() };
}

async function count(
  pool: ThreadPool<readonly string[], number>,
  text: string | readonly string[],
  { signal, tokensMax = Number.POSITIVE_INFINITY, mayBeRefused = false }: CountBounds,
): Promise<number> {
  if (text.length === 0) return 0;
  try {
    const group = pool.enter(signal, { isOwed: !mayBeRefused });
    try {
      let tokens = 0;
      for (const slice of slicesOf(typeof text === 'string' ? [text] : text)) {
        tokens += await group.run(slice);
        if (tokens > tokensMax) break;
      }
      return tokens;
    } finally {
      group.leave();
    }
  } catch (cause) {
    signal?.throwIfAborted();
    if (mayBeRefused && cause instanceof ParleyError && cause.code === 'overloaded') throw cause;
    throw new ParleyError('internal_error', { cause });
  }
}

/** Splits the texts into lists that the thread counts in a short time each. */
function* slicesOf(texts: readonly string[]): Generator<readonly string[]> {
  let slice: string[] = [];
  let units = 0;
  for (const text of texts) {
    for (let start = 0; start < text.length; ) {
      const end = endOfPiece(text, start, sliceUnitsMax);
      if (slice.length === sliceTextsMax || units + end - start > sliceUnitsMax) {
        yield slice;
        slice = [];
        units = 0;
      }
      slice.push(text.slice(start, end));
      units += end - start;
      start = end;
    }
  }
  if (slice.length > 0) yield slice;
}
