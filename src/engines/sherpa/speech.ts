import type { AudioFormat } from '../../core/entities/engine.ts';
import { Clauses, isSpeakable } from '../../core/realtime/clauses.ts';
import { ParleyError } from '../../core/values/errors.ts';
import { createEncoderPool } from '../../media/encoding/encode.ts';
import { OneAtATime } from '../model-server.ts';
import type { Voice } from './addon.ts';

export interface SpeakRequest {
  readonly input: string;
  /** From 0. */
  readonly speaker: number;
  /** The voice of espeak-ng that reads the text. Undefined: that of the model. */
  readonly reader: string | undefined;
  readonly format: AudioFormat;
}

/**
 * The audio of a text, a sentence at a time. An abort ends the work after the sentence.
 * @throws `invalid_input` if nothing of the text can be spoken
 */
export type Speak = (request: SpeakRequest, signal: AbortSignal) => AsyncIterable<Uint8Array>;

export function createSpeak(voice: Voice): Speak {
  const encoders = createEncoderPool({ threads: 1 });
  const turns = new OneAtATime();
  return ({ input, speaker, reader, format }, signal) => {
    const clauses = new Clauses();
    const texts = [...clauses.add(input), ...clauses.finish()].filter(isSpeakable);
    if (texts.length === 0) {
      throw new ParleyError('invalid_input', { message: 'Nothing of the text can be spoken.' });
    }
    async function* samples() {
      for (const text of texts) {
        const audio = await turns.run(async () => {
          signal.throwIfAborted();
          const how = { sid: speaker, speed: 1 };
          const generationConfig = { ...how, extra: { lang: reader } };
          return voice.generateAsync({ text, ...how, ...(reader && { generationConfig }) });
        });
        yield toWholeNumbers(audio.samples);
      }
    }
    const source = { sampleRate: voice.sampleRate, samples: samples() };
    return encoders.encode(format, source, signal);
  };
}

function toWholeNumbers(samples: Float32Array): Int16Array {
  return Int16Array.from(samples, (sample) => Math.round(Math.min(1, Math.max(-1, sample)) * 32_767));
}
