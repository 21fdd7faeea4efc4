/**
 * Files of the recogniser and the decoder, which set-up builds. The executable contains them, and replaces this file.
 */
import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the clone as seen from the sources and from the build in dist/. */
const root = new URL(import.meta.url.includes('/dist/src/') ? '../../../' : '../../', import.meta.url);
/** The folder where set-up puts all of them at once. */
export const hearingFolder = fileURLToPath(new URL('.hearing', root));
const names = ['decoder.wasm', 'recogniser.wasm', 'recogniser.image'];
/** The image is read in parts of this size. */
const partBytes = 1024 ** 2;

/** Why built-in transcription does not work yet; undefined once all files are there. */
export function missingHearing(): string | undefined {
  if (names.every((name) => existsSync(join(hearingFolder, name)))) return undefined;
  return 'The built-in transcription is not ready: set-up is still building it, or has reported why it cannot.';
}

export function readModule(name: 'decoder' | 'recogniser'): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(join(hearingFolder, `${name}.wasm`));
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
