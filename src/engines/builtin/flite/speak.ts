import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import type { TaskGroup } from '../../../threads/pool.ts';
import type { TextPiece } from './pieces.ts';
import type { FlitePool } from './pool.ts';
import type { SpokenPiece } from './synthesis.ts';
import type { FliteVoice } from './voices.ts';

/** Pieces spoken ahead of the reader. A piece is up to 20 s of sound. */
const piecesAheadMax = 3;

/**
 * Speaks pieces in order, several at a time in threads, only a few ahead of the reader. Yields a piece's samples, then
 * its pause.
 * @throws `overloaded` on the first pull if the pool is full, `request_cancelled` once the signal aborts. A reader that
 * leaves early frees its place at once.
 */
export async function* speakPcm(
  pool: FlitePool,
  voice: FliteVoice,
  pieces: readonly TextPiece[],
  signal: Signal,
): AsyncGenerator<Int16Array, void, undefined> {
  throwIfCancelled(signal);
  const group = pool.enter(signal);
  try {
    const ahead: Promise<Int16Array>[] = [];
    let asked = 0;
    for (const [index, piece] of pieces.entries()) {
      for (; asked < pieces.length && asked < index + piecesAheadMax; asked++) {
        ahead.push(speak(group, voice, pieces[asked]));
      }
      const samples = await ahead.shift();
      if (samples !== undefined) yield samples;
      // After an abort no more pieces start.
      throwIfCancelled(signal);
      const pause = index + 1 === pieces.length ? 0 : (piece.pauseMs * voice.sampleRate) / 1000;
      if (pause > 0) yield new Int16Array(pause);
      throwIfCancelled(signal);
    }
  } finally {
    group.leave();
  }
}

function speak(
  group: TaskGroup<SpokenPiece, Int16Array>,
  voice: FliteVoice,
  piece: TextPiece | undefined,
): Promise<Int16Array> {
  if (piece === undefined) throw new RangeError('no such piece');
  const samples = group.run({ voice: voice.id, text: piece.text });
  // A failure is thrown when the piece's turn comes; until then it must not be an unhandled rejection.
  samples.catch(() => undefined);
  return samples;
}

function throwIfCancelled(signal: Signal): void {
  if (signal.aborted) throw new ParleyError('request_cancelled', { cause: signal.reason });
}
