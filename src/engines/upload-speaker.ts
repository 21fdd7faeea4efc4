/**
 * Live turns for an engine that transcribes files. Each turn is collected, then sent as one WAV file, so there are no
 * partial texts.
 */
import type { TranscriptionEngine, TranscriptWord } from '../core/entities/engine.ts';
import {
  type LiveSpeaker,
  type LiveText,
  type LiveTurn,
  type LiveTurnOptions,
  liveSampleRate,
} from '../core/entities/live.ts';
import { ParleyError } from '../core/values/errors.ts';
import { OwnSignal } from '../core/values/signal.ts';
import { wavHeader } from '../media/encoders/wav.ts';
import { KeptSpeech } from './kept-speech.ts';

const retryAfterSeconds = 5;

export function uploadSpeaker(engine: TranscriptionEngine): LiveSpeaker {
  return { listen: (options) => new UploadedTurn(engine, options), close: () => undefined };
}

class UploadedTurn implements LiveTurn {
  readonly #engine: TranscriptionEngine;
  readonly #options: LiveTurnOptions;
  readonly #kept: KeptSpeech;
  readonly #dropped = new OwnSignal();
  #parts: Int16Array[] = [];
  #bytes = 0;

  constructor(engine: TranscriptionEngine, options: LiveTurnOptions) {
    this.#engine = engine;
    this.#options = options;
    this.#dropped.owner = options.signal.owner;
    this.#kept = new KeptSpeech(options.signal.owner);
  }

  add(samples: Int16Array): void {
    if (this.#dropped.aborted) return;
    if (!this.#kept.add(samples.byteLength)) {
      const error = new ParleyError('overloaded', { retryAfterSeconds });
      this.#dropped.abort(error);
      this.#forget();
      this.#options.onFailure(error);
      return;
    }
    this.#parts.push(samples);
    this.#bytes += samples.byteLength;
  }

  async finish(): Promise<LiveText> {
    const { signal, language } = this.#options;
    const onAbort = () => this.#dropped.abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      return await this.#transcribe(language);
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#forget();
    }
  }

  drop(): void {
    this.#dropped.abort(new ParleyError('request_cancelled'));
    this.#forget();
  }

  #forget(): void {
    this.#parts = [];
    this.#kept.remove();
  }

  async #transcribe(language: string | undefined): Promise<LiveText> {
    const texts: string[] = [];
    const words: TranscriptWord[] = [];
    const request = { audio: this.#file(), fileName: 'turn.wav', language, signal: this.#dropped };
    for await (const event of this.#engine.transcribe({
      ...request,
      words: this.#engine.reportsTimes !== false,
    })) {
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
    const header = wavHeader(liveSampleRate, this.#bytes);
    const file = new Uint8Array(header.length + this.#bytes);
    file.set(header);
    let at = header.length;
    for (const { buffer, byteOffset, byteLength } of this.#parts) {
      file.set(new Uint8Array(buffer, byteOffset, byteLength), at);
      at += byteLength;
    }
    return file;
  }
}
