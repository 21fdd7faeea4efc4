import { ParleyError } from '../../../core/errors.ts';
import type { TextPiece } from './pieces.ts';
import type { FlitePool, Speaker } from './pool.ts';
import type { FliteVoice } from './voices.ts';

/** Pieces of a text that are said or being said before the reader has asked for them. One is up to 20 s of sound. */
const piecesAheadMax = 3;

/**
 * Says pieces in their order: several at a time, in threads, and no further ahead of the reader than a few. Yields the
 * samples of a piece, then of the pause behind it. Throws `overloaded` on the first pull where the pool is full, and
 * `request_cancelled` as soon as the signal aborts. A reader that leaves early frees its place at once.
 */
export async function* speakPcm(
  pool: FlitePool,
  voice: FliteVoice,
  pieces: readonly TextPiece[],
  signal: AbortSignal,
): AsyncGenerator<Int16Array, void, undefined> {
  throwIfCancelled(signal);
  const speaker = pool.enter();
  const leave = () => speaker.leave();
  signal.addEventListener('abort', leave, { once: true });
  try {
    const ahead: Promise<Int16Array>[] = [];
    let asked = 0;
    for (const [index, piece] of pieces.entries()) {
      for (; asked < pieces.length && asked < index + piecesAheadMax; asked++) {
        ahead.push(say(speaker, voice, pieces[asked]));
      }
      const samples = await ahead.shift();
      if (samples !== undefined) yield samples;
      // Each pull after an abort ends here, before anything more is asked for.
      throwIfCancelled(signal);
      const pause = index + 1 === pieces.length ? 0 : (piece.pauseMs * voice.sampleRate) / 1000;
      if (pause > 0) yield new Int16Array(pause);
      throwIfCancelled(signal);
    }
  } finally {
    signal.removeEventListener('abort', leave);
    speaker.leave();
  }
}

function say(speaker: Speaker, voice: FliteVoice, piece: TextPiece | undefined): Promise<Int16Array> {
  if (piece === undefined) throw new RangeError('no such piece');
  const samples = speaker.speak({ voice: voice.id, text: piece.text });
  // A failure is thrown when the piece's turn comes; until then, or for a reader who has left, it is not unhandled.
  samples.catch(() => undefined);
  return samples;
}

function throwIfCancelled(signal: AbortSignal): void {
  if (signal.aborted) throw new ParleyError('request_cancelled', { cause: signal.reason });
}
