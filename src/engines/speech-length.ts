/** How long relayed audio is, where its bytes tell: of PCM and WAV each byte has its time. */
import type { AudioFormat } from '../core/ports/engines.ts';
import { readWavHead, type WavHead } from '../media/encoders/wav-head.ts';

/** 16-bit mono at 24 kHz, as clients of the API take raw PCM. */
const pcmBytesPerSecond = 48_000;
/** A WAV's samples begin far sooner; one that hides them farther in has no known length. */
const wavHeadBytesMax = 4_096;

export interface AudioLength {
  add(bytes: Uint8Array): void;
  /** Milliseconds so far; undefined where they cannot be told. */
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
  #begin = Buffer.alloc(0);
  #head: WavHead | undefined;

  add(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#head !== undefined || this.#begin.length >= wavHeadBytesMax) return;
    this.#begin = Buffer.concat([this.#begin, bytes]).subarray(0, wavHeadBytesMax);
    this.#head = readWavHead(this.#begin);
  }

  ms(): number | undefined {
    if (this.#head === undefined) return undefined;
    const { bytesPerSecond, dataAt } = this.#head;
    return ((this.#bytes - dataAt) * 1000) / bytesPerSecond;
  }
}
