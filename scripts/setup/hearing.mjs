/**
 * The modules of hearing, which the server reads from `.hearing/`: built from the distribution's source packages, or taken from
 * a cache that the clones of this user share. Without them speech and chat work, so set-up goes on if it cannot build them,
 * and says why.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { compile, scripts } from '../hearing/compile.mjs';
import { areTested, fetchSources, sayUntested, sourcesIn } from '../hearing/sources.mjs';
import { packages, provide } from './programs.mjs';
import { Progress } from './progress.mjs';
import { root, SetupFailure, say } from './run.mjs';
import { doStep, notes, takeLock } from './steps.mjs';

/** @typedef {import('../hearing/sources.mjs').Sources} Sources */

const folder = join(root, '.hearing');
/** Holds the hash of the scripts that built the files beside it. */
const stamp = join(folder, 'built-by');

/** A check that takes milliseconds. */
export function isHearingBuilt() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === hashOf([]);
}

/**
 * The server reads it to tell why there is no transcription yet: `building` with the process that builds and what it does, or
 * `failed`.
 */
const state = join(notes, 'hearing-state');

/** @param {number} number @param {string} name */
const stepOf = (number, name) =>
  new Progress((text) => {
    writeFileSync(`${state}.next`, `building ${process.pid} step ${number} of 3, ${name}: ${text}`);
    renameSync(`${state}.next`, state);
  });

/** Notes a process that has just started to provide hearing, for a server that starts beside it. @param {number} pid */
export function noteHearing(pid) {
  if (isHearingBuilt()) return;
  mkdirSync(notes, { recursive: true });
  writeFileSync(state, `building ${pid} step 1 of 3, starting`);
}

export async function provideHearing() {
  if (isHearingBuilt()) return;
  noteHearing(process.pid);
  await build();
  if (isHearingBuilt()) rmSync(state, { force: true });
  else writeFileSync(state, 'failed');
}

async function build() {
  const cache = cacheFolder();
  const lock = await takeLock(join(cache, 'lock'));
  try {
    const built = isHearingBuilt() ? undefined : await buildIn(cache);
    if (built !== undefined) link(built);
  } catch (error) {
    if (!(error instanceof SetupFailure)) throw error;
    say(`${error.message}\n  Transcription requests get 503 engine_unavailable; everything else works.`);
  } finally {
    closeSync(lock);
  }
}

/** @param {string} doing @param {string} takes @param {Progress} shown @param {() => Promise<void>} work */
const doLongStep = (doing, takes, shown, work) =>
  doStep({ doing, takes, work, progress: () => shown.text }, undefined);

/** A folder outside the clone, or inside it if the user can write to no other. */
export function cacheFolder() {
  const base = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const shared = join(base, 'parley', 'hearing');
  try {
    mkdirSync(shared, { recursive: true });
    writeFileSync(join(shared, 'lock'), '');
    return shared;
  } catch {
    return join(notes, 'hearing');
  }
}

/**
 * @param {string} cache
 * @returns {Promise<string | undefined>} the folder with the files; undefined without a compiler
 */
async function buildIn(cache) {
  const downloads = join(cache, 'sources');
  let sources = sourcesIn(downloads);
  const known = sources && join(cache, hashOf(sources));
  if (known !== undefined && existsSync(known)) return known;
  if (!(await provide(packages.compiler, stepOf(1, 'installing the compiler')))) return undefined;
  if (sources === undefined || !areTested(sources)) sources = await fetchAnew(downloads);
  sayUntested(sources);
  const built = join(cache, hashOf(sources));
  if (existsSync(built)) return built;
  const work = emptied(`${built}.work`);
  const doing = 'Compiling the recogniser, the decoder and the MP3 encoder';
  const compiling = stepOf(3, 'compiling');
  await doLongStep(doing, '40 s', compiling, () => compile(downloads, sources, work, compiling));
  renameSync(join(work, 'built'), built);
  rmSync(work, { recursive: true });
  return built;
}

/** @param {string} downloads */
async function fetchAnew(downloads) {
  const incoming = emptied(`${downloads}.new`);
  const doing = 'Fetching the sources of the recogniser, the decoder and the MP3 encoder (apt-get source)';
  const fetching = stepOf(2, 'fetching the sources');
  await doLongStep(doing, '20 s, 60 MB to download', fetching, () => fetchSources(incoming, fetching));
  rmSync(downloads, { recursive: true, force: true });
  renameSync(incoming, downloads);
  const sources = sourcesIn(downloads);
  if (sources === undefined) throw new SetupFailure(`Sources are missing in ${downloads}.`);
  return sources;
}

/**
 * Puts the files into the clone as links, or as copies if links are not possible. Another user may run the server.
 *
 * @param {string} built
 */
function link(built) {
  const incoming = emptied(`${folder}.new`);
  for (const name of readdirSync(built)) {
    try {
      linkSync(join(built, name), join(incoming, name));
    } catch {
      copyFileSync(join(built, name), join(incoming, name));
    }
  }
  writeFileSync(join(incoming, 'built-by'), hashOf([]));
  rmSync(folder, { recursive: true, force: true });
  renameSync(incoming, folder);
}

/** Identifies the result of building these sources with the scripts of this clone. @param {Sources | readonly []} sources */
function hashOf(sources) {
  const hash = createHash('sha256');
  for (const name of readdirSync(scripts, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!/\.\w+$|Makefile$/.test(name)) continue;
    hash.update(`${name}\0`).update(readFileSync(join(scripts, name)));
  }
  for (const { sha256 } of sources) hash.update(sha256);
  return hash.digest('hex').slice(0, 32);
}

/** @param {string} path */
function emptied(path) {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  return path;
}
