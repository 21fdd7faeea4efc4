/** The modules of hearing as assets of the executable. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isHearingBuilt } from '../setup/hearing.mjs';
import { root, SetupFailure } from '../setup/run.mjs';
import { packed } from './packed.mjs';

const folder = join(root, '.hearing');
/** Takes half a minute, and saves 4 MB (10 %) against the default level. */
const imageLevel = 19;

/** @returns {Record<string, Buffer>} */
export function hearingAssets() {
  if (!isHearingBuilt())
    throw new SetupFailure(
      'Hearing is not built. To build it, or to see the reason: node scripts/setup.mjs hear',
    );
  return {
    'decoder.wasm.zst': packed(read('decoder.wasm')),
    'recogniser.wasm.zst': packed(read('recogniser.wasm')),
    'recogniser.image.zst': packedImage(),
    'resampler.wasm.zst': packed(read('resampler.wasm')),
    'lame.wasm.zst': packed(read('lame.wasm')),
  };
}

/** The licences, and the sources that the modules were built from. */
export function hearingNotices() {
  return read('notices.md').toString();
}

/** The next build takes it from beside the image. */
function packedImage() {
  const file = join(folder, 'recogniser.image.zst');
  if (!existsSync(file)) {
    writeFileSync(`${file}.${process.pid}`, packed(read('recogniser.image'), imageLevel));
    renameSync(`${file}.${process.pid}`, file);
  }
  return readFileSync(file);
}

/** @param {string} name */
function read(name) {
  return readFileSync(join(folder, name));
}
