/** Bytes that own their buffer, so that it can be transferred to another thread. */
export type OwnedBytes = Uint8Array<ArrayBuffer>;

/** Encodes one file: takes mono 16-bit PCM, returns the bytes of the file in order. */
export interface Encoder {
  /** Takes any number of samples, and keeps no reference to them. Returns the bytes that are complete, perhaps none. */
  encode(samples: Int16Array): OwnedBytes;
  /** Encodes the held-back samples and ends the file. Call once, after the last `encode`. */
  finish(): OwnedBytes;
  /** Frees the codec's memory. Call once, even if the file was not finished. */
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
