/** Live turns for an engine that transcribes files. Each turn is sent as one WAV file, so there are no partial texts. */
import type { TranscriptionEngine, TranscriptWord } from '../core/entities/engine.ts';
import {
  type LiveSpeaker,
  type LiveText,
  type LiveTurnOptions,
  liveSampleRate,
} from '../core/entities/live.ts';
import { ParleyError } from '../core/values/errors.ts';
import { joinBytes } from '../media/encoders/encoder.ts';
import { wavHeader } from '../media/encoders/wav.ts';
import { KeptTurn } from './kept-speech.ts';

export function uploadSpeaker(engine: TranscriptionEngine): LiveSpeaker {
  return { listen: (options) => new UploadedTurn(engine, options), close: () => undefined };
}

class UploadedTurn extends KeptTurn {
  readonly #engine: TranscriptionEngine;

  constructor(engine: TranscriptionEngine, options: LiveTurnOptions) {
    super(options);
    this.#engine = engine;
  }

  protected async recognise(): Promise<LiveText> {
    const texts: string[] = [];
    const words: TranscriptWord[] = [];
    const events = this.#engine.transcribe({
      audio: this.#file(),
      fileName: 'turn.wav',
      language: this.options.language,
      signal: this.stop,
      words: this.#engine.reportsTimes !== false,
    });
    for await (const event of events) {
      if (event.kind === 'segment') {
        texts.push(event.segment.text.trim());
        words.push(...event.segment.words);
      }
      if (event.kind === 'done') {
        const text = event.text ?? texts.join(' ');
        return { text, words: words.map((word) => ({ ...word, probability: undefined })) };
      }
    }
    throw new ParleyError('upstream_error', { cause: new Error('the engine ended before the transcript') });
  }

  #file(): Uint8Array {
    const parts = this.parts.map((part) => new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    return joinBytes([wavHeader(liveSampleRate, bytes), ...parts]);
  }
}
