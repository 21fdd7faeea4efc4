import { type FliteProgram, wavFileName } from './program.ts';
import { fliteVoices } from './voices.ts';
import { readWav } from './wav.ts';

/** What a thread is asked to say. */
export interface SpokenPiece {
  /** The id of a voice of flite. */
  readonly voice: string;
  /** Printable ASCII. */
  readonly text: string;
}

/** Silence that stays around the speech, so that no soft first or last sound is clipped. */
const marginMs = 15;

/** Says a text in one utterance and cuts off the silence before and after it, which differs from voice to voice. */
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

/** Where the first sound starts and the last ends, from `-psdur`: `pau:0.224 w:0.260 ... t:4.914 pau:5.059`. */
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
