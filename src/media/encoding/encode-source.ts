/** Speech as an engine makes it: mono, 16-bit samples at one rate. */
export interface PcmSource {
  /** Hertz: a whole number from 8,000 to 48,000. */
  readonly sampleRate: number;
  /** Chunks of any length. A chunk's memory belongs to the reader: the source does not write to it again. */
  readonly samples: AsyncIterable<Int16Array>;
}

/** Reads a source chunk by chunk and, unlike `for await`, can let go of it while a chunk is awaited. */
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

  /** Tells a source that was started and has not ended that nothing more is wanted. Does not wait for it. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    // The reader has left or has an error of its own: how the source takes its end can change neither.
    this.#iterator?.return?.().catch(() => undefined);
  }
}
