/** Limits on reading the body of an error response, which is only searched for the error's name. */
const errorBytesMax = 4_096;
const errorMsMax = 1_000;

interface Body {
  /** The next bytes; undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
  close(): void;
}

/** The part of an error body that arrives soon. A failure to read it does not matter: the status is the answer. */
export async function beginningOf(body: Body): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  const timer = setTimeout(() => body.close(), errorMsMax);
  try {
    for (let piece = await body.next(); piece; piece = await body.next()) {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= errorBytesMax) break;
    }
  } catch {
    // The status is the answer, so a failure does not matter here either.
  } finally {
    clearTimeout(timer);
    body.close();
  }
  return Buffer.concat(pieces).subarray(0, errorBytesMax).toString();
}
