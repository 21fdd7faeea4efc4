import type { SpeechEngine, VoiceList } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { EncoderPool } from '../../media/encoding/encode.ts';
import type { Owned } from '../engine-set.ts';
import type { TextPiece } from './flite/pieces.ts';
import { createFlitePool, createTexts, type FlitePool } from './flite/pool.ts';
import { defaultFliteVoice, type FliteVoice, fliteVoices } from './flite/voices.ts';

/** Samples are passed to the encoder in chunks of this length, so that `durationMs` stays close to the encoded audio. */
const chunkSeconds = 0.25;

const voiceList: VoiceList = {
  voices: fliteVoices.map(({ id, language }) => ({ id, language })),
  defaultVoice: defaultFliteVoice,
};

interface BuiltinSpeechOptions {
  /** Maximum number of worker threads, at least 1; each starts when there is work for it. */
  readonly threads: number;
  /** Maximum number of requests that wait for a thread. Further ones are `overloaded`. */
  readonly queueMax: number;
  /** The creator closes it. */
  readonly encoders: EncoderPool;
}

/**
 * Speech by flite, which is part of the program: no network, no other software. `check` rejects with `invalid_input`
 * for a text without anything to speak. The audio rejects with `overloaded`, `request_cancelled` or, if flite fails,
 * `internal_error`.
 * @throws `unknown_voice` from `synthesize`
 */
export function createBuiltinSpeech({
  threads,
  queueMax,
  encoders,
}: BuiltinSpeechOptions): Owned<SpeechEngine> {
  const pool = createFlitePool({ threads, requestsWaitingMax: queueMax });
  const texts = createTexts(queueMax);
  return {
    availability: () => ({ available: true }),
    voices: () => voiceList,
    check: async (request, signal) => void (await texts.piecesOf(request, signal)),
    synthesize: (request, signal) => {
      const voice = fliteVoices.find(({ id }) => id === request.voice);
      if (voice === undefined) throw new ParleyError('unknown_voice', { param: 'voice' });
      const { sampleRate } = voice;
      let samplesGiven = 0;
      async function* counted(speaking: FliteVoice): AsyncGenerator<Int16Array, void, undefined> {
        const pieces = await texts.piecesOf(request, signal);
        for await (const samples of speakPcm(pool, speaking, pieces, signal)) {
          for (let start = 0; start < samples.length; start += sampleRate * chunkSeconds) {
            // A copy, because the encoder takes the chunk's memory.
            const chunk = samples.slice(start, start + sampleRate * chunkSeconds);
            samplesGiven += chunk.length;
            yield chunk;
          }
        }
      }
      return {
        audio: encoders.encode(request.format, { sampleRate, samples: counted(voice) }, signal),
        durationMs: () => (samplesGiven * 1000) / sampleRate,
      };
    },
    waiting: () => pool.waiting,
    close: async () => {
      await Promise.all([pool.close(), texts.close()]);
    },
  };
}

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
  const group = pool.enter(signal);
  const speak = ({ text }: TextPiece) => {
    const samples = group.run({ voice: voice.id, text });
    // A failure is thrown when the piece's turn comes; until then it must not be an unhandled rejection.
    samples.catch(() => undefined);
    return samples;
  };
  try {
    const ahead = pieces.slice(0, piecesAheadMax).map(speak);
    for (const [index, { pauseMs }] of pieces.entries()) {
      const samples = await ahead.shift();
      if (samples !== undefined) yield samples;
      ahead.push(...pieces.slice(index + piecesAheadMax, index + piecesAheadMax + 1).map(speak));
      const pause = index + 1 === pieces.length ? 0 : (pauseMs * voice.sampleRate) / 1000;
      if (pause > 0) yield new Int16Array(pause);
    }
  } finally {
    group.leave();
  }
}
