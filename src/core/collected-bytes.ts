/**
 * Joins pieces of bytes as they arrive. Kept apart, one-byte pieces would cost a hundred times their size, and a limit on bytes would
 * not limit memory.
 */
export class CollectedBytes {
  #buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** A view of all bytes so far; it does not grow. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Appends a copy of a piece. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) this.#grow(length);
    this.#buffer.set(piece, this.#length);
    this.#length = length;
  }

  /** Doubles the buffer, so that bytes are rarely moved. The first piece gets just enough: mostly it is also the last. */
  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#buffer.length));
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}
