/** The most PCM of one stream that is on its way to or on an encoder thread: a slice, as each is answered before the next. */
export const pcmInFlightSamplesMax = 4096;

/** Less than this is kept until more comes: no codec completes anything from it, and a message to a thread costs time. */
const sliceMsMin = 20;

/**
 * Cuts chunks of any length into slices worth sending to a thread: long chunks so that the first part is encoded
 * before the last was sent, tiny ones gathered. Each slice has memory of its own, which may be transferred.
 */
export class PcmSlicer {
  readonly #samplesMin: number;
  /** Shorter than a slice: what earlier chunks left. */
  #carry = new Int16Array(0);
  #chunk: Int16Array = new Int16Array(0);

  constructor(sampleRate: number) {
    this.#samplesMin = Math.ceil((sampleRate * sliceMsMin) / 1000);
  }

  /** Adds a chunk. The one before must have been taken out: `take` returned undefined. */
  push(chunk: Int16Array): void {
    this.#chunk = chunk;
  }

  /** The next slice; undefined where there is too little for one. */
  take(): Int16Array<ArrayBuffer> | undefined {
    const held = this.#carry.length + this.#chunk.length;
    if (held >= this.#samplesMin) return this.#cut(Math.min(held, pcmInFlightSamplesMax));
    this.#carry = this.#cut(held);
    return undefined;
  }

  /** What is left at the end, less than a slice, perhaps nothing. */
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
