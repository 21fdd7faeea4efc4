/**
 * Fetches the source packages through apt, which verifies them with the system's keys, from the system's own mirrors. Settings,
 * lists and downloads are in a folder of their own: the system's stay as they are.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptProgress, aptStatus } from '../setup/progress.mjs';
import { run, SetupFailure, say } from '../setup/run.mjs';

/**
 * Modules that are built together, from the same source packages.
 *
 * @typedef {keyof typeof parts} Part
 */
export const parts = {
  decoder: {
    doing: 'the decoder and the MP3 encoder',
    packages: ['ffmpeg', 'lame'],
    files: ['decoder.wasm', 'resampler.wasm', 'lame.wasm'],
    fetches: '10 s, 30 MB to download',
    compiles: '30 s',
  },
  recogniser: {
    doing: 'the recogniser',
    packages: ['sphinxbase', 'pocketsphinx'],
    files: ['recogniser.wasm', 'recogniser.image'],
    fetches: '15 s, 50 MB to download',
    compiles: '15 s',
  },
};

/**
 * The source packages that this build was tested with: SHA-256 of their .dsc files, which hold those of all other files.
 * Distributions replace a version when they fix it, so others are taken too.
 */
const tested = new Set([
  // Debian 12, Debian 13
  '6c40b4ca2ea551eaaac3b033c216c6ca44c143bf92977cd148603ae1d3783821', // pocketsphinx 0.8+5prealpha+1-15
  '6a402771625fa80785a2b904697ba9c7e74a1ee4fa536354e9e88f08e2a4073b', // lame 3.100-6
  // Debian 12
  'd48cbbec8151f8c36ec5270f51f8c0f5971b6285fb47d1638ade2437a6885980', // sphinxbase 0.8+5prealpha+1-16
  '055f82fca9a92f1d47216be2c2488d09373c7ca154806fbc36b0127c191d5104', // ffmpeg 7:5.1.9-0+deb12u1
  // Debian 13
  '9ed2ed34cbe7f056eeebbe9045c5e2d15e41b5b053fe7c8ba6979a0b6fb081ce', // ffmpeg 7:7.1.5-0+deb13u1
  // Ubuntu 24.04
  'e2bcfe0c6bd2ad50707c33124d3022659113ff72b7ed728fdf9444cb619d00a7', // pocketsphinx 0.8.0+real5prealpha+1-15ubuntu5
  '6addd1eb94f49e99acb52a652a72db036e35c94184ae5a265b44795996113e71', // sphinxbase 0.8+5prealpha+1-17build2
  'a10fbc05d525244502b2e66634ce1c0d8dd7e5d042a69ec4548dfa661f149774', // ffmpeg 7:6.1.1-3ubuntu5
]);

/**
 * The .dsc files of the sources of a part.
 *
 * @typedef {readonly { name: string, file: string, sha256: string }[]} Sources
 * @param {string} folder that may not exist
 * @param {Part} part
 * @returns {Sources | undefined} undefined unless all are there
 */
export function sourcesIn(folder, part) {
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const { packages } = parts[part];
  const sources = packages.flatMap((name) => {
    const file = files.find((one) => one.startsWith(`${name}_`) && one.endsWith('.dsc'));
    if (file === undefined) return [];
    const sha256 = createHash('sha256')
      .update(readFileSync(join(folder, file)))
      .digest('hex');
    return [{ name, file, sha256 }];
  });
  return sources.length === packages.length ? sources : undefined;
}

/** @param {Sources} sources */
export function areTested(sources) {
  return sources.every(({ sha256 }) => tested.has(sha256));
}

/** @param {Sources} sources */
export function sayUntested(sources) {
  for (const { file, sha256 } of sources)
    if (!tested.has(sha256)) say(`${file} is verified by apt, but Parley was not tested with it.`);
}

/**
 * Downloads source packages to a new folder, and 10 to 20 MB of lists.
 *
 * @param {string} folder @param {readonly string[]} packages @param {import('../setup/progress.mjs').Progress} progress
 */
export async function fetchSources(folder, packages, progress) {
  const apt = join(folder, 'apt');
  for (const name of ['sources', 'lists/partial', 'cache/archives/partial'])
    mkdirSync(join(apt, name), { recursive: true });
  for (const [name, content] of sourceLists('/etc/apt')) writeFileSync(join(apt, 'sources', name), content);
  const settings = [
    aptStatus,
    'Dir::Etc::sourcelist=/dev/null',
    `Dir::Etc::sourceparts=${apt}/sources`,
    `Dir::State::lists=${apt}/lists`,
    `Dir::Cache=${apt}/cache`,
    'Acquire::Languages=none',
    'Acquire::http::Timeout=15',
    'Acquire::Retries=1',
    // apt's own user cannot write to a folder of this user.
    'APT::Sandbox::User=root',
  ];
  const aptGet = ['apt-get', '-q', ...settings.flatMap((one) => ['-o', one])];
  const options = { cwd: folder, timeout: 300_000, onOutput: aptProgress(progress) };
  // Some other source of the system may fail.
  const update = await run([...aptGet, 'update'], options);
  const { ok, output } = await run([...aptGet, 'source', '--download-only', ...packages], options);
  rmSync(apt, { recursive: true });
  if (!ok) {
    const errors = `${update.output}\n${output}`.split('\n').filter((line) => /^[EW]:/.test(line));
    throw new SetupFailure(
      ['apt-get could not fetch the source packages.', ...errors.slice(-4)].join('\n    '),
    );
  }
}

/**
 * The system's package sources as sources of source packages.
 *
 * @param {string} folder of apt's settings
 * @returns {[name: string, content: string][]}
 */
export function sourceLists(folder) {
  const parts = join(folder, 'sources.list.d');
  const files = [join(folder, 'sources.list')];
  if (existsSync(parts)) files.push(...readdirSync(parts).map((name) => join(parts, name)));
  return files
    .filter((file) => /\.(list|sources)$/.test(file) && existsSync(file))
    .map((file, index) => {
      const text = readFileSync(file, 'utf8');
      return file.endsWith('.sources')
        ? [`${index}.sources`, text.replace(/^Types:.*$/gim, 'Types: deb-src')]
        : [`${index}.list`, text.replace(/^\s*deb-src\s.*$/gm, '').replace(/^\s*deb\s/gm, 'deb-src ')];
    });
}
