/**
 * Files of the recognisers, the decoder and the modules for speech, which set-up provides. The executable contains them, and
 * replaces this file.
 */
import { existsSync, readFileSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isAlive } from '../files/executable.ts';

/** The folder where set-up puts them. */
export const hearingFolder = fileURLToPath(new URL('../../.hearing', import.meta.url));
/** The folder of Moonshine, which recognises better than pocketsphinx. Set-up puts all its files there at once. */
export const moonshineFolder = fileURLToPath(new URL('../../.moonshine', import.meta.url));
const moonshineNames = [
  'encoder_model.ort',
  'decoder_model_merged.ort',
  'tokenizer.bin',
  'ort.wasm',
  'ort.mjs',
] as const;
/** The image is read in parts of this size. */
const partBytes = 1024 ** 2;

/** Where set-up writes `building` with the id of its process and what it does, or `failed`. */
const setupState = fileURLToPath(new URL('../../.setup/hearing-state', import.meta.url));

/** Files that were found. Set-up may replace a file, but never removes one. */
const found = new Set<string>();

function isThere(file: string): boolean {
  if (!found.has(file) && existsSync(file)) found.add(file);
  return found.has(file);
}

/** Why built-in transcription does not work yet; undefined once all files are there. */
export function missingHearing(): string | undefined {
  const has = (name: string) => isThere(join(hearingFolder, name));
  if (has('decoder.wasm') && (['recogniser.wasm', 'recogniser.image'].every(has) || hasMoonshine()))
    return undefined;
  const [state, pid, ...doing] = existsSync(setupState) ? readFileSync(setupState, 'utf8').split(' ') : [];
  if (state === 'building' && isAlive(Number(pid))) {
    return `The built-in transcription is being set up: ${doing.join(' ')}. Try again when that is done.`;
  }
  const why = state === 'failed' ? 'could not be built' : 'is not built';
  return `The built-in transcription ${why}. To build it, and to see what is missing: npm run build`;
}

/** Whether speech is recognised by Moonshine instead of pocketsphinx. */
export function hasMoonshine(): boolean {
  return moonshineNames.every((name) => isThere(join(moonshineFolder, name)));
}

export function readMoonshine(name: (typeof moonshineNames)[number]): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(join(moonshineFolder, name));
}

export function readModule(name: 'decoder' | 'recogniser'): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(join(hearingFolder, `${name}.wasm`));
}

/** A module that makes speech cheaper; undefined before set-up has built it. */
export function readExtra(name: 'resampler' | 'lame'): Uint8Array<ArrayBuffer> | undefined {
  const file = join(hearingFolder, `${name}.wasm`);
  return existsSync(file) ? readFileSync(file) : undefined;
}

/** The memory of a recogniser that has loaded its model, in parts. Each part is valid until the next is read. */
export async function* readRecogniserImage(): AsyncGenerator<Uint8Array, void, void> {
  const file = await open(join(hearingFolder, 'recogniser.image'));
  try {
    const part = new Uint8Array(partBytes);
    for (let read = await file.read(part); read.bytesRead > 0; read = await file.read(part)) {
      yield part.subarray(0, read.bytesRead);
    }
  } finally {
    await file.close();
  }
}
