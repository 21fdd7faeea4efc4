/** The files of hearing, which set-up builds. The executable replaces this file, and contains them. */
import { createReadStream, existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the clone as seen from the sources and from the build in dist/. */
const root = new URL(import.meta.url.includes('/dist/src/') ? '../../../' : '../../', import.meta.url);
/** Where set-up puts them, all at once. */
export const hearingFolder = fileURLToPath(new URL('.hearing', root));
const names = ['decoder.wasm', 'recogniser.wasm', 'recogniser.image'];
/** The image is read in parts of this size, so that few messages go to and fro. */
const partBytes = 1024 ** 2;

/** Why hearing does not work yet; undefined once all files are there. */
export function missingHearing(): string | undefined {
  if (names.every((name) => existsSync(join(hearingFolder, name)))) return undefined;
  return 'The built-in transcription is not there yet: set-up still builds it, or has said why it cannot.';
}

export function readModule(name: 'decoder' | 'recogniser'): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(join(hearingFolder, `${name}.wasm`));
}

/** The memory of a recogniser that has loaded its model, in parts. */
export function readRecogniserImage(): AsyncIterable<Uint8Array> {
  return createReadStream(join(hearingFolder, 'recogniser.image'), { highWaterMark: partBytes });
}
