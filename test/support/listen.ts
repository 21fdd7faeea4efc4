/** Reads 16-bit samples for this many seconds, then cancels. */
export async function listen(
  speak: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  secondsMax: number,
): Promise<Int16Array> {
  const left = new AbortController();
  const bytesMax = secondsMax * 2 * 24_000;
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of speak(left.signal)) {
    pieces.push(piece);
    length += piece.length;
    if (length >= bytesMax) break;
  }
  left.abort();
  const bytes = new Uint8Array(Buffer.concat(pieces));
  return new Int16Array(bytes.buffer, 0, Math.floor(bytes.length / 2));
}

/** Root mean square of the samples, at most 32,767. */
export function energyOf(samples: Int16Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}
