/**
 * Bytes that come in pieces, put together as they come. Kept one by one, the smallest pieces would cost a hundred times what
 * is in them, so that a limit of bytes would not be one of memory.
 */
export class CollectedBytes {
  #buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** All bytes so far. Those that are added later are not in it. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  /** Adds a copy of a piece. */
  add(piece: Uint8Array): void {
    const length = this.#length + piece.length;
    if (length > this.#buffer.length) this.#grow(length);
    this.#buffer.set(piece, this.#length);
    this.#length = length;
  }

  /** Twice the room each time, so that no byte is moved often; just enough for the first piece, which mostly is the last. */
  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#buffer.length));
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}
