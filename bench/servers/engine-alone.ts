/** The floor of speech: Parley's own engine in one worker thread, without encoding. */
import { parentPort } from 'node:worker_threads';
import { cutIntoPieces } from '../../src/engines/builtin/flite/pieces.ts';
import { compileFlite, FliteProgram } from '../../src/engines/builtin/flite/program.ts';
import { speakableText } from '../../src/engines/builtin/flite/speakable-text.ts';
import { synthesizePiece } from '../../src/engines/builtin/flite/synthesis.ts';
import { fliteVoices } from '../../src/engines/builtin/flite/voices.ts';

export interface Spoken {
  readonly totalMs: number;
  /** Includes the pauses between pieces. */
  readonly audioSeconds: number;
}

const flite = new FliteProgram(await compileFlite());
parentPort?.on('message', ({ text, voice }: { text: string; voice: string }) => {
  const sampleRate = fliteVoices.find(({ id }) => id === voice)?.sampleRate ?? Number.NaN;
  const startedAt = performance.now();
  const pieces = cutIntoPieces(speakableText(text));
  const audioSeconds = pieces.reduce((seconds, piece, index) => {
    const samples = synthesizePiece(flite, { voice, text: piece.text });
    const pauseMs = index < pieces.length - 1 ? piece.pauseMs : 0;
    return seconds + samples.length / sampleRate + pauseMs / 1000;
  }, 0);
  parentPort?.postMessage({ totalMs: performance.now() - startedAt, audioSeconds } satisfies Spoken);
});
