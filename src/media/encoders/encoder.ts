/** Bytes in memory of their own, so that they can move to another thread without a copy. */
export type OwnedBytes = Uint8Array<ArrayBuffer>;

/** One file being written: mono 16-bit PCM in, the bytes of the file out, in order. */
export interface Encoder {
  /** Takes the next samples, of any number, and keeps no reference to them. Returns what is complete, which may be nothing. */
  encode(samples: Int16Array): OwnedBytes;
  /** Encodes what is still held and closes the file. Called once, after the last `encode`. */
  finish(): OwnedBytes;
  /** Gives the codec's memory back. Called once, whether or not the file was finished. */
  free(): void;
}

export function joinBytes(parts: readonly Uint8Array[]): OwnedBytes {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}
