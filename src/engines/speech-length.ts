/** Measures the duration of relayed audio by its bytes, which works for PCM and WAV. */
import type { AudioFormat } from '../core/entities/engine.ts';
import { readWavHead, type WavHead } from '../media/encoders/wav.ts';

/** 16-bit mono at 24 kHz, the raw PCM of the OpenAI API. */
const pcmBytesPerSecond = 48_000;
/** The samples of a WAV usually begin far earlier. If they begin later, the length is unknown. */
export const wavHeadBytesMax = 4_096;

export class AudioLength {
  readonly #isWav: boolean;
  #bytes = 0;
  #beginning = Buffer.alloc(0);
  #head: Pick<WavHead, 'bytesPerSecond' | 'dataAt'> | undefined;

  constructor(format: AudioFormat) {
    this.#isWav = format === 'wav';
    if (format === 'pcm') this.#head = { bytesPerSecond: pcmBytesPerSecond, dataAt: 0 };
  }

  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (!this.#isWav || this.#head !== undefined || this.#beginning.length >= wavHeadBytesMax) return;
    this.#beginning = Buffer.concat([this.#beginning, bytes]).subarray(0, wavHeadBytesMax);
    this.#head = readWavHead(this.#beginning);
  }

  /** Milliseconds so far; undefined if unknown. */
  ms(): number | undefined {
    if (this.#head === undefined) return undefined;
    const { bytesPerSecond, dataAt } = this.#head;
    return ((this.#bytes - dataAt) * 1000) / bytesPerSecond;
  }
}
