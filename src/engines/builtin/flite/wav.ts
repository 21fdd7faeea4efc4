export interface Pcm {
  /** In Hz. */
  readonly sampleRate: number;
  /** One channel. */
  readonly samples: Int16Array;
}

/** Reads a RIFF WAVE file of one channel of 16-bit PCM. Throws where it is anything else. */
export function readWav(file: Uint8Array): Pcm {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (tag(file, 0) !== 'RIFF' || tag(file, 8) !== 'WAVE') throw new Error('not a WAV file');
  let sampleRate: number | undefined;
  for (let at = 12; at + 8 <= file.byteLength; ) {
    const start = at + 8;
    const end = start + view.getUint32(at + 4, true);
    if (tag(file, at) === 'fmt ') sampleRate = readFormat(view, start);
    if (tag(file, at) === 'data' && sampleRate !== undefined) {
      // Copied, since samples must lie at even addresses and own the buffer that is sent on.
      const bytes = file.slice(start, Math.min(end, file.byteLength));
      return { sampleRate, samples: new Int16Array(bytes.buffer, 0, bytes.byteLength >> 1) };
    }
    at = end + (end & 1);
  }
  throw new Error('a WAV file without sound');
}

function readFormat(view: DataView, start: number): number {
  const format = view.getUint16(start, true);
  const channels = view.getUint16(start + 2, true);
  const bits = view.getUint16(start + 14, true);
  if (format !== 1 || channels !== 1 || bits !== 16) throw new Error('not one channel of 16-bit PCM');
  return view.getUint32(start + 4, true);
}

function tag(file: Uint8Array, at: number): string {
  return String.fromCharCode(...file.subarray(at, at + 4));
}
