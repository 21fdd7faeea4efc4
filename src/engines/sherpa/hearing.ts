/** Speech that is heard while it comes. */
import { setImmediate } from 'node:timers/promises';
import type { RecognisedStream, RecognitionResult, StreamingRecogniser } from './addon.ts';

/** Opens the hearing of one turn or utterance. */
export type OpenHearing = () => Hearing;

export class Hearing {
  readonly #recogniser: StreamingRecogniser;
  readonly #tailMs: number;
  readonly #stream: RecognisedStream;

  constructor(recogniser: StreamingRecogniser, tailMs: number) {
    this.#recogniser = recogniser;
    this.#tailMs = tailMs;
    this.#stream = recogniser.createStream();
  }

  /** The text so far. */
  get text(): string {
    return this.#recogniser.getResult(this.#stream).text;
  }

  /** Resolves when the samples have been heard. @param samples -1 to 1 */
  async add(samples: Float32Array, sampleRate: number, signal?: AbortSignal): Promise<void> {
    this.#stream.acceptWaveform({ samples, sampleRate });
    await this.#decode(signal);
  }

  /** The result of the whole. Call once, last. */
  async finish(sampleRate: number, signal?: AbortSignal): Promise<RecognitionResult> {
    const tail = new Float32Array((this.#tailMs * sampleRate) / 1000);
    this.#stream.acceptWaveform({ samples: tail, sampleRate });
    this.#stream.inputFinished();
    await this.#decode(signal);
    const { ys_probs, ...result } = this.#recogniser.getResult(this.#stream);
    return { ...result, lang: '', durations: [], ys_log_probs: ys_probs };
  }

  /** Each step blocks, so other streams get their turn after it. */
  async #decode(signal: AbortSignal | undefined): Promise<void> {
    while (this.#recogniser.isReady(this.#stream)) {
      signal?.throwIfAborted();
      this.#recogniser.decode(this.#stream);
      await setImmediate();
    }
  }
}
