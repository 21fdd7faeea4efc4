import { readWavHead } from '../../../media/encoders/wav.ts';
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
  const { stdout, wav = new Uint8Array() } = flite.run(args);
  const head = readWavHead(wav);
  const expected = fliteVoices.find((voice) => voice.id === piece.voice)?.sampleRate;
  if (head === undefined || head.sampleRate !== expected || head.bitsPerSample !== 16 || head.channels !== 1)
    throw new Error(`flite wrote no samples of the voice ${piece.voice}`);
  const { sampleRate, dataAt, dataBytes } = head;
  const speech = speechSpan(stdout);
  const margin = (marginMs * sampleRate) / 1000;
  const start = Math.max(0, Math.floor(speech.startSeconds * sampleRate - margin));
  const end = Math.min(Math.ceil(speech.endSeconds * sampleRate + margin), dataBytes >> 1);
  // A copy: samples need an even address, and their own buffer to be transferred.
  const bytes = wav.slice(dataAt + 2 * start, dataAt + 2 * end);
  return new Int16Array(bytes.buffer, 0, bytes.length >> 1);
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
