import { type FliteProgram, wavFileName } from './program.ts';
import { fliteVoices } from './voices.ts';

/** A task of a flite thread. */
export interface SpokenPiece {
  /** Id of a flite voice. */
  readonly voice: string;
  /** Printable ASCII. */
  readonly text: string;
}

/** Silence kept around the speech, so that no soft first or last sound is clipped. */
const marginMs = 15;

/** Speaks a text as one utterance, and removes the silence around it, which differs from voice to voice. */
export function synthesizePiece(flite: FliteProgram, piece: SpokenPiece): Int16Array<ArrayBuffer> {
  const args = ['-voice', piece.voice, '-psdur', '-t', piece.text, '-o', wavFileName];
  const { stdout, wav } = flite.run(args);
  if (wav === undefined) throw new Error('flite wrote no sound');
  const { sampleRate, samples } = readWav(wav);
  const expected = fliteVoices.find((voice) => voice.id === piece.voice)?.sampleRate;
  if (sampleRate !== expected) throw new Error(`voice ${piece.voice} has ${sampleRate} samples a second`);
  const speech = speechSpan(stdout);
  const margin = (marginMs * sampleRate) / 1000;
  const start = Math.max(0, Math.floor(speech.startSeconds * sampleRate - margin));
  return new Int16Array(samples.slice(start, Math.ceil(speech.endSeconds * sampleRate + margin)));
}

/** The start of the first sound and the end of the last, from `-psdur`: `pau:0.224 w:0.260 ... t:4.914 pau:5.059`. */
function speechSpan(segments: string): { startSeconds: number; endSeconds: number } {
  let previousEnd = 0;
  let startSeconds: number | undefined;
  let endSeconds = 0;
  for (const [, sound, end] of segments.matchAll(/(\S+):([\d.]+)/g)) {
    if (sound !== 'pau') {
      startSeconds ??= previousEnd;
      endSeconds = Number(end);
    }
    previousEnd = Number(end);
  }
  return { startSeconds: startSeconds ?? 0, endSeconds };
}

interface Pcm {
  /** In Hz. */
  readonly sampleRate: number;
  /** Mono. */
  readonly samples: Int16Array;
}

/** Reads a WAV file of mono 16-bit PCM. Throws on any other file. */
function readWav(file: Uint8Array): Pcm {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  if (tag(file, 0) !== 'RIFF' || tag(file, 8) !== 'WAVE') throw new Error('not a WAV file');
  let sampleRate: number | undefined;
  for (let at = 12; at + 8 <= file.byteLength; ) {
    const start = at + 8;
    const end = start + view.getUint32(at + 4, true);
    if (tag(file, at) === 'fmt ') sampleRate = readFormat(view, start);
    if (tag(file, at) === 'data' && sampleRate !== undefined) {
      // A copy: samples need an even address, and their own buffer to be transferred.
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
