/** Compiles the modules from their sources, without a network. */
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Progress } from '../setup/progress.mjs';
import { run, SetupFailure } from '../setup/run.mjs';

/** All files that decide what is built. */
export const scripts = fileURLToPath(new URL('.', import.meta.url));

const files = ['recogniser.wasm', 'recogniser.image', 'decoder.wasm', 'resampler.wasm', 'lame.wasm'];
const compileMsMax = 1_200_000;
/** Lines that make prints, about. */
const linesOfMake = 464;

/**
 * @param {string} downloads the folder of the sources
 * @param {import('./sources.mjs').Sources} sources
 * @param {string} work an empty folder. The files are put in `built` there.
 * @param {Progress} [progress]
 */
export async function compile(downloads, sources, work, progress = new Progress()) {
  for (const { name, file } of sources)
    await tool(work, ['dpkg-source', '--extract', join(downloads, file), name]);
  cpSync(scripts, join(work, 'hearing'), { recursive: true });
  const make = ['make', `--jobs=${availableParallelism()}`, '--file=hearing/Makefile'];
  let lines = 0;
  const onOutput = (/** @type {string} */ text) => {
    lines += text.split('\n').length - 1;
    progress.update(`${Math.min(99, Math.round((100 * lines) / linesOfMake))} %`);
  };
  await tool(work, [...make, `NODE=${process.execPath}`], onOutput);
  mkdirSync(join(work, 'built'));
  for (const file of files) renameSync(join(work, file), join(work, 'built', file));
  writeFileSync(join(work, 'built', 'notices.md'), noticesOf(sources, work));
}

/**
 * Runs a program of the compiler, and throws if it fails.
 *
 * @param {string} cwd @param {readonly string[]} command @param {(text: string) => void} [onOutput]
 */
async function tool(cwd, command, onOutput = () => undefined) {
  const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' };
  const { ok, output } = await run(command, { cwd, env, timeout: compileMsMax, onOutput });
  if (!ok)
    throw new SetupFailure(
      `\`${command.join(' ')}\` failed.\n    ${output.split('\n').slice(-8).join('\n    ')}`,
    );
}

/** The notices that go with the modules: licences, sources, how to relink. @param {import('./sources.mjs').Sources} sources @param {string} work */
function noticesOf(sources, work) {
  const list = sources.map(
    ({ file, sha256 }) => `- ${file.replace(/\.dsc$/, '')} (SHA-256 of its .dsc: ${sha256})`,
  );
  const text = (/** @type {string} */ file) =>
    `\`\`\`text\n${readFileSync(resolve(work, file), 'utf8').trim()}\n\`\`\``;
  return `## Recogniser, decoder and MP3 encoder

The recogniser is a WebAssembly module of PocketSphinx and SphinxBase, with PocketSphinx's model of US English. The decoder is a
WebAssembly module of FFmpeg's libraries under the GNU Lesser General Public License. The MP3 encoder is a WebAssembly module of LAME
(https://lame.sourceforge.io), unchanged, under the GNU Library General Public License. All contain parts of wasi-libc. They are built
from these source packages of the distribution:

${list.join('\n')}

\`apt-get source\` fetches them. \`scripts/hearing/Makefile\` in Parley's source builds them, and says how. To use a changed FFmpeg
or LAME, build decoder.wasm or lame.wasm with it, replace the file in \`.hearing/\` of a clone of Parley, and run the clone or
\`npm run build:binary\`.

### PocketSphinx and its model

${text('pocketsphinx/LICENSE')}

${text('pocketsphinx/model/en-us/en-us/README')}

### SphinxBase

${text('sphinxbase/LICENSE')}

### wasi-libc

${text('/usr/share/doc/wasi-libc/copyright')}

### FFmpeg

${text('ffmpeg/COPYING.LGPLv2.1')}

### LAME

${text('lame/COPYING')}
`;
}
