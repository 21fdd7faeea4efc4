/** Compiles the modules from their sources, without a network. */
import { cpSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Progress } from '../setup/progress.mjs';
import { run, SetupFailure } from '../setup/run.mjs';
import { parts } from './sources.mjs';

/** All files that decide what is built. */
export const scripts = fileURLToPath(new URL('.', import.meta.url));

const compileMsMax = 1_200_000;
/** Lines that make prints, about. */
const linesOfMake = { decoder: 374, recogniser: 90 };

/**
 * @param {import('./sources.mjs').Part} part
 * @param {string} downloads the folder of the sources
 * @param {import('./sources.mjs').Sources} sources
 * @param {string} work an empty folder. The files are put in `built` there.
 * @param {Progress} [progress]
 */
export async function compile(part, downloads, sources, work, progress = new Progress()) {
  for (const { name, file } of sources)
    await tool(work, ['dpkg-source', '--extract', join(downloads, file), name]);
  cpSync(scripts, join(work, 'hearing'), { recursive: true });
  const { files } = parts[part];
  const make = ['make', `--jobs=${availableParallelism()}`, '--file=hearing/Makefile', ...files];
  let lines = 0;
  const onOutput = (/** @type {string} */ text) => {
    lines += text.split('\n').length - 1;
    progress.update(`${Math.min(99, Math.round((100 * lines) / linesOfMake[part]))} %`);
  };
  await tool(work, [...make, `NODE=${process.execPath}`], onOutput);
  mkdirSync(join(work, 'built'));
  for (const file of files) renameSync(join(work, file), join(work, 'built', file));
  writeFileSync(join(work, 'built', `${part}-notices.md`), notices[part](sources, work));
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

/** @param {string} work @param {string} file */
const quoted = (work, file) => `\`\`\`text\n${readFileSync(resolve(work, file), 'utf8').trim()}\n\`\`\``;

/** @param {import('./sources.mjs').Sources} sources */
const builtFrom = (sources) =>
  sources
    .map(({ file, sha256 }) => `- ${file.replace(/\.dsc$/, '')} (SHA-256 of its .dsc: ${sha256})`)
    .join('\n');

const howToBuild =
  "`apt-get source` fetches them. `scripts/hearing/Makefile` in Parley's source builds them, and says how.";

/**
 * The notices that go with the modules of a part: licences, sources, how to relink.
 *
 * @type {Record<import('./sources.mjs').Part, (sources: import('./sources.mjs').Sources, work: string) => string>}
 */
const notices = {
  decoder: (sources, work) => `## Decoder and MP3 encoder

The decoder is a WebAssembly module of FFmpeg's libraries under the GNU Lesser General Public License. The MP3 encoder is a
WebAssembly module of LAME (https://lame.sourceforge.io), unchanged, under the GNU Library General Public License. Both contain parts
of wasi-libc. They are built from these source packages of the distribution:

${builtFrom(sources)}

${howToBuild} To use a changed FFmpeg or LAME, build decoder.wasm or lame.wasm with it, replace the file in \`.hearing/\` of a clone
of Parley, and run the clone or \`npm run build:binary\`.

### wasi-libc

${quoted(work, '/usr/share/doc/wasi-libc/copyright')}

### FFmpeg

${quoted(work, 'ffmpeg/COPYING.LGPLv2.1')}

### LAME

${quoted(work, 'lame/COPYING')}
`,
  recogniser: (sources, work) => `## Recogniser

The recogniser is a WebAssembly module of PocketSphinx and SphinxBase, with PocketSphinx's model of US English. It contains parts of
wasi-libc, as the decoder does. It is built from these source packages of the distribution:

${builtFrom(sources)}

${howToBuild}

### PocketSphinx and its model

${quoted(work, 'pocketsphinx/LICENSE')}

${quoted(work, 'pocketsphinx/model/en-us/en-us/README')}

### SphinxBase

${quoted(work, 'sphinxbase/LICENSE')}
`,
};
