const nothing = Buffer.alloc(0);

/**
 * Joins pieces of bytes as they arrive. Kept apart, one-byte pieces would use a hundred times their size, and a limit
 * on bytes would not limit memory.
 */
export class CollectedBytes {
  #buffer: Buffer = nothing;
  #length = 0;
  readonly #lengthMax: number;

  /** @param lengthMax maximum of all bytes together, if known */
  constructor(lengthMax = Number.POSITIVE_INFINITY) {
    this.#lengthMax = lengthMax;
  }

  get length(): number {
    return this.#length;
  }

  /** A view of all bytes so far; it does not grow. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Appends a copy of a piece. A piece that is everything is kept as it is. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (piece.length === this.#lengthMax && this.#length === 0) {
      this.#buffer = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    } else {
      if (length > this.#buffer.length) this.#grow(length);
      this.#buffer.set(piece, this.#length);
    }
    this.#length = length;
  }

  /**
   * Doubles the buffer, so that bytes are rarely moved, or takes the maximum once a quarter has arrived. The first
   * piece gets just enough, as usually it is also the last.
   */
  #grow(length: number): void {
    const isNearEnd = length * 4 >= this.#lengthMax && this.#length > 0;
    const wanted = isNearEnd ? this.#lengthMax : 2 * this.#buffer.length;
    const larger = Buffer.allocUnsafeSlow(Math.max(length, Math.min(wanted, this.#lengthMax)));
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}
