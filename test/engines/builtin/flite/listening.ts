/** Speaks texts in real threads and measures the audio. */
import { afterEach } from 'vitest';
import { cutIntoPieces } from '../../../../src/engines/builtin/flite/pieces.ts';
import {
  createFlitePool,
  type FlitePool,
  type FlitePoolOptions,
} from '../../../../src/engines/builtin/flite/pool.ts';
import { speakableText } from '../../../../src/engines/builtin/flite/speakable-text.ts';
import { fliteVoices } from '../../../../src/engines/builtin/flite/voices.ts';
import { speakPcm } from '../../../../src/engines/builtin/speech.ts';

/** A signal that never aborts. */
export const untilTheEnd = new AbortController().signal;

/** Closed after each test. */
const pools: FlitePool[] = [];
export function newPool(options: FlitePoolOptions): FlitePool {
  const pool = createFlitePool(options);
  pools.push(pool);
  return pool;
}
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

export function voiceNamed(id: string) {
  const voice = fliteVoices.find((candidate) => candidate.id === id);
  if (voice === undefined) throw new Error(`no voice ${id}`);
  return voice;
}

/** kal is by far the fastest voice, for tests that do not need good sound. */
export function speak(pool: FlitePool, text: string, signal = untilTheEnd, voice = 'kal') {
  return speakPcm(pool, voiceNamed(voice), cutIntoPieces(speakableText(text)), signal);
}

export async function collect(audio: AsyncIterable<Int16Array>): Promise<Int16Array> {
  const chunks: Int16Array[] = [];
  for await (const chunk of audio) chunks.push(chunk);
  const all = new Int16Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Root mean square of the samples, at most 32,767. */
export function energy(samples: Int16Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}

/** Prose of at least `length` characters without repeated sentences. */
export function prose(length: number): string {
  const who = [
    'The captain',
    'My neighbour',
    'A young teacher',
    'Nobody',
    'The old gardener',
    'Her brother',
    'The boy',
  ];
  const did = [
    'walked slowly to',
    'wrote a letter about',
    'remembered',
    'had never seen',
    'painted',
    'talked about',
  ];
  const what = [
    'the harbour',
    'that quiet street',
    'the first train',
    'a house by the river',
    'the long winter',
  ];
  const when = [
    'when the rain stopped',
    'before noon',
    'because it was late',
    'as everybody knew',
    'in the end',
  ];
  let text = '';
  for (let n = 0; text.length < length; n++) {
    text += `${who[n % 7]} ${did[n % 6]} ${what[n % 5]}, ${when[(n >> 1) % 5]}, and chapter ${n + 1} ended. `;
  }
  return text;
}
