/** The files of hearing, which set-up builds. The executable replaces this file, and contains them. */
import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the clone as seen from the sources and from the build in dist/. */
const root = new URL(import.meta.url.includes('/dist/src/') ? '../../../' : '../../', import.meta.url);
/** Where set-up puts them, all at once. */
export const hearingFolder = fileURLToPath(new URL('.hearing', root));
const names = ['decoder.wasm', 'recogniser.wasm', 'recogniser.image'];
/** The image is read in parts of this size. */
const partBytes = 1024 ** 2;

/** Why hearing does not work yet; undefined once all files are there. */
export function missingHearing(): string | undefined {
  if (names.every((name) => existsSync(join(hearingFolder, name)))) return undefined;
  return 'The built-in transcription is not there yet: set-up still builds it, or has said why it cannot.';
}

export function readModule(name: 'decoder' | 'recogniser'): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(join(hearingFolder, `${name}.wasm`));
}

/** The memory of a recogniser that has loaded its model, in parts. Each part is valid until the next is asked for. */
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
