/** The modules of hearing as assets of the executable. It recognises speech by Moonshine, or by pocketsphinx without it. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { isHearingBuilt, provideHearing } from '../setup/hearing.mjs';
import { fetchMoonshine, isMoonshineFetched, moonshineCache } from '../setup/moonshine.mjs';
import { weights } from '../setup/moonshine-files.mjs';
import { root, SetupFailure, say } from '../setup/run.mjs';
import { packed } from './packed.mjs';

const folder = join(root, '.hearing');
/** Takes half a minute, and saves 4 MB (10 %) against the default level. */
const imageLevel = 19;

/** Fetches Moonshine, or says that the executable does without it. */
export async function provideRecogniser() {
  if (await fetchMoonshine()) return;
  say('The executable is built with pocketsphinx, which gets more words wrong: Moonshine was not fetched.');
  await provideHearing('recogniser');
}

/** @returns {Record<string, Buffer>} */
export function hearingAssets() {
  if (!isHearingBuilt('decoder') || !(isMoonshineFetched() || isHearingBuilt('recogniser')))
    throw new SetupFailure(
      'Hearing is not built. To build it, or to see the reason: node scripts/setup.mjs hear',
    );
  return {
    'decoder.wasm.zst': packed(read('decoder.wasm')),
    ...(isMoonshineFetched() ? moonshineAssets() : pocketsphinxAssets()),
    'resampler.wasm.zst': packed(read('resampler.wasm')),
    'lame.wasm.zst': packed(read('lame.wasm')),
  };
}

/** @returns {Record<string, Buffer>} */
function pocketsphinxAssets() {
  return { 'recogniser.wasm.zst': packed(read('recogniser.wasm')), 'recogniser.image.zst': packedImage() };
}

/** @returns {Record<string, Buffer>} */
function moonshineAssets() {
  const names = [...weights.map(({ name }) => name), 'ort.wasm'];
  const files = names.map((name) => [
    `moonshine/${name}.zst`,
    packed(readFileSync(join(moonshineCache(), name))),
  ]);
  return { ...Object.fromEntries(files), 'moonshine/ort.mjs.zst': packed(runtimeAsBundle()) };
}

/** A function with the parameters of a CommonJS module, as the other bundles. */
function runtimeAsBundle() {
  const { outputFiles } = buildSync({
    entryPoints: [join(moonshineCache(), 'ort.mjs')],
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    define: { 'import.meta.url': JSON.stringify('inside:/') },
  });
  return `(function (require, module) {${outputFiles[0]?.text}\n})`;
}

/** The licences, and the sources that the modules were built from. */
export function hearingNotices() {
  const recogniser = isMoonshineFetched()
    ? readFileSync(new URL('moonshine-notices.md', import.meta.url), 'utf8')
    : read('recogniser-notices.md');
  return `${read('decoder-notices.md')}\n${recogniser}`;
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
