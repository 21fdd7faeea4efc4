/** Speech from an engine: mono, 16-bit samples at one rate. */
export interface PcmSource {
  /** Hertz: a whole number from 8,000 to 48,000. */
  readonly sampleRate: number;
  /** Chunks of any length. The reader owns a chunk's memory; the source does not write to it again. */
  readonly samples: AsyncIterable<Int16Array>;
}

/** Reads a source chunk by chunk. Unlike `for await`, it can release the source while it waits for a chunk. */
export class PcmReader {
  readonly #samples: AsyncIterable<Int16Array>;
  #iterator: AsyncIterator<Int16Array> | undefined;
  #isOpen = true;

  constructor(source: PcmSource) {
    this.#samples = source.samples;
  }

  /** The next chunk; undefined at the end. */
  async next(): Promise<Int16Array | undefined> {
    try {
      this.#iterator ??= this.#samples[Symbol.asyncIterator]();
      const { done, value } = await this.#iterator.next();
      if (!done) return value;
    } catch (error) {
      this.#isOpen = false;
      throw error;
    }
    this.#isOpen = false;
    return undefined;
  }

  /** Releases a source that has started but not ended. Does not wait for it. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // The reader has left or failed already, so an error of the source does not matter.
    this.#iterator?.return?.().catch(() => undefined);
  }
}

/** Maximum samples of a stream that are on their way to a thread: one slice, as the next waits for its answer. */
export const pcmInFlightSamplesMax = 4096;

/**
 * Shorter slices wait for more samples: no codec completes a frame from them, and each message to a thread costs time.
 */
const sliceMsMin = 20;

/** Cuts or joins chunks into slices for a thread. Each slice has its own memory, which may be transferred. */
export class PcmSlicer {
  readonly #samplesMin: number;
  /** The rest of earlier chunks, shorter than a slice. */
  #carry = new Int16Array(0);
  #chunk: Int16Array = new Int16Array(0);

  constructor(sampleRate: number) {
    this.#samplesMin = Math.ceil((sampleRate * sliceMsMin) / 1000);
  }

  /** Adds a chunk. Requires that `take` has returned undefined since the last one. */
  push(chunk: Int16Array): void {
    this.#chunk = chunk;
  }

  /** The next slice; undefined if too little is left for one. */
  take(): Int16Array<ArrayBuffer> | undefined {
    const held = this.#carry.length + this.#chunk.length;
    if (held >= this.#samplesMin) return this.#cut(Math.min(held, pcmInFlightSamplesMax));
    this.#carry = this.#cut(held);
    return undefined;
  }

  /** The rest at the end, shorter than a slice, perhaps empty. */
  rest(): Int16Array<ArrayBuffer> {
    return this.#cut(this.#carry.length + this.#chunk.length);
  }

  #cut(length: number): Int16Array<ArrayBuffer> {
    const slice = new Int16Array(length);
    const fromChunk = length - this.#carry.length;
    slice.set(this.#carry);
    slice.set(this.#chunk.subarray(0, fromChunk), this.#carry.length);
    this.#carry = new Int16Array(0);
    this.#chunk = this.#chunk.subarray(fromChunk);
    return slice;
  }
}
