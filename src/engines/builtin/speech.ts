import type { SpeechEngine, SpeechOutput, SpeechRequest, VoiceList } from '../../core/entities/engine.ts';
import { ParleyError } from '../../core/values/errors.ts';
import type { Signal } from '../../core/values/signal.ts';
import type { EncoderPool } from '../../media/encoding/encode.ts';
import type { Owned } from '../engine-set.ts';
import { createFlitePool, createTexts, type FlitePool, type Texts } from './flite/pool.ts';
import { speakPcm } from './flite/speak.ts';
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
export function createBuiltinSpeech(options: BuiltinSpeechOptions): Owned<SpeechEngine> {
  const pool = createFlitePool({ threads: options.threads, requestsWaitingMax: options.queueMax });
  const texts = createTexts(options.queueMax);
  return {
    availability: () => ({ available: true }),
    voices: () => voiceList,
    check: async (request, signal) => void (await texts.piecesOf(request, signal)),
    synthesize: (request, signal) => synthesize({ pool, texts, encoders: options.encoders }, request, signal),
    waiting: () => pool.waiting,
    close: async () => {
      await Promise.all([pool.close(), texts.close()]);
    },
  };
}

interface Speaking {
  readonly pool: FlitePool;
  readonly texts: Texts;
  readonly encoders: EncoderPool;
}

function synthesize(
  { pool, texts, encoders }: Speaking,
  request: SpeechRequest,
  signal: Signal,
): SpeechOutput {
  const voice = fliteVoices.find(({ id }) => id === request.voice);
  if (voice === undefined) throw new ParleyError('unknown_voice', { param: 'voice' });
  let samplesGiven = 0;
  async function* counted(speaking: FliteVoice): AsyncGenerator<Int16Array, void, undefined> {
    const pieces = await texts.piecesOf(request, signal);
    for await (const samples of speakPcm(pool, speaking, pieces, signal)) {
      for (let start = 0; start < samples.length; start += speaking.sampleRate * chunkSeconds) {
        // A copy, because the encoder takes the chunk's memory.
        const chunk = samples.slice(start, start + speaking.sampleRate * chunkSeconds);
        samplesGiven += chunk.length;
        yield chunk;
      }
    }
  }
  return {
    audio: encoders.encode(request.format, { sampleRate: voice.sampleRate, samples: counted(voice) }, signal),
    durationMs: () => (samplesGiven * 1000) / voice.sampleRate,
  };
}
