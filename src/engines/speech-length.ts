/** Measures the duration of relayed audio by its bytes, which works for PCM and WAV. */
import type { AudioFormat } from '../core/ports/engines.ts';
import { readWavHead, type WavHead } from '../media/encoders/wav.ts';

/** 16-bit mono at 24 kHz, the raw PCM of the OpenAI API. */
const pcmBytesPerSecond = 48_000;
/** The samples of a WAV usually begin far sooner. If they begin later, the length is unknown. */
const wavHeadBytesMax = 4_096;

export interface AudioLength {
  add(bytes: Uint8Array): void;
  /** Milliseconds so far; undefined if unknown. */
  ms(): number | undefined;
}

export function createAudioLength(format: AudioFormat): AudioLength {
  if (format === 'pcm') return new PcmLength();
  if (format === 'wav') return new WavLength();
  return { add: () => undefined, ms: () => undefined };
}

class PcmLength implements AudioLength {
  #bytes = 0;

  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
  }

  ms(): number {
    return (this.#bytes * 1000) / pcmBytesPerSecond;
  }
}

class WavLength implements AudioLength {
  #bytes = 0;
  #beginning = Buffer.alloc(0);
  #head: WavHead | undefined;

  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#head !== undefined || this.#beginning.length >= wavHeadBytesMax) return;
    this.#beginning = Buffer.concat([this.#beginning, bytes]).subarray(0, wavHeadBytesMax);
    this.#head = readWavHead(this.#beginning);
  }

  ms(): number | undefined {
    if (this.#head === undefined) return undefined;
    const { bytesPerSecond, dataAt } = this.#head;
    return ((this.#bytes - dataAt) * 1000) / bytesPerSecond;
  }
}
