/**
 * The modules of hearing, which the server reads from `.hearing/`: built from the distribution's source packages, or taken from
 * a cache that the clones of this user share. Without them speech and chat work, so set-up goes on if it cannot build them,
 * and says why. The decoder is always needed, the recogniser only without Moonshine.
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
import { areTested, fetchSources, parts, sayUntested, sourcesIn } from '../hearing/sources.mjs';
import { packages, provide } from './programs.mjs';
import { Progress } from './progress.mjs';
import { root, SetupFailure, say } from './run.mjs';
import { doStep, notes, takeLock } from './steps.mjs';

/** @typedef {import('../hearing/sources.mjs').Part} Part */
/** @typedef {import('../hearing/sources.mjs').Sources} Sources */

const folder = join(root, '.hearing');
/** Holds the hash of the scripts that built the files of a part. @param {Part} part */
const stampOf = (part) => join(folder, `${part}-built-by`);

/** A check that takes milliseconds. @param {Part} part */
export function isHearingBuilt(part) {
  return existsSync(stampOf(part)) && readFileSync(stampOf(part), 'utf8') === hashOf([]);
}

/**
 * The server reads it to tell why there is no transcription yet: `building` with the process that builds and what it does, or
 * `failed`.
 */
const state = join(notes, 'hearing-state');

/** @param {string} doing */
const noteDoing = (doing, pid = process.pid) => {
  mkdirSync(notes, { recursive: true });
  const written = `${state}.${process.pid}`;
  writeFileSync(written, `building ${pid} ${doing}`);
  renameSync(written, state);
};

/** @param {number} number @param {string} name */
const stepOf = (number, name) => new Progress((text) => noteDoing(`step ${number} of 3, ${name}: ${text}`));

/** Notes a process that has just started to provide hearing, for a server that starts beside it. @param {number} pid */
export function noteHearing(pid) {
  noteDoing('step 1 of 3, starting', pid);
}

/**
 * Notes the progress of a download that hearing waits for.
 *
 * @param {string} doing @param {() => string} progress @param {Promise<void>} download
 */
export async function noteWaiting(doing, progress, download) {
  const note = () => noteDoing(`${doing}: ${progress()}`);
  // A download that is stopped never ends, and must not keep the process.
  const timer = setInterval(note, 1000).unref();
  note();
  await download.finally(() => clearInterval(timer));
}

/** Notes the end of set-up. @param {boolean} hears */
export function noteEnd(hears) {
  if (hears) rmSync(state, { force: true });
  else writeFileSync(state, 'failed');
}

/** @param {Part[]} wanted */
export async function provideHearing(...wanted) {
  const missing = wanted.filter((part) => !isHearingBuilt(part));
  if (missing.length === 0) return;
  const cache = cacheFolder();
  const lock = await takeLock(join(cache, 'lock'));
  try {
    for (const part of missing) {
      const built = isHearingBuilt(part) ? undefined : await buildIn(cache, part);
      if (built !== undefined) link(built, part);
    }
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
 * @param {string} cache @param {Part} part
 * @returns {Promise<string | undefined>} the folder with the files; undefined without a compiler
 */
async function buildIn(cache, part) {
  const downloads = join(cache, `${part}-sources`);
  let sources = sourcesIn(downloads, part);
  const known = sources && join(cache, hashOf(sources));
  if (known !== undefined && existsSync(known)) return known;
  if (!(await provide(packages.compiler, stepOf(1, 'installing the compiler')))) return undefined;
  if (sources === undefined || !areTested(sources)) sources = await fetchAnew(downloads, part);
  sayUntested(sources);
  const built = join(cache, hashOf(sources));
  if (existsSync(built)) return built;
  const work = emptied(`${built}.work`);
  const { doing, compiles } = parts[part];
  const compiling = stepOf(3, `compiling ${doing}`);
  await doLongStep(`Compiling ${doing}`, compiles, compiling, () =>
    compile(part, downloads, sources, work, compiling),
  );
  renameSync(join(work, 'built'), built);
  rmSync(work, { recursive: true });
  return built;
}

/** @param {string} downloads @param {Part} part */
async function fetchAnew(downloads, part) {
  const incoming = emptied(`${downloads}.new`);
  const { doing, packages: sourcePackages, fetches } = parts[part];
  const fetching = stepOf(2, `fetching the sources of ${doing}`);
  await doLongStep(`Fetching the sources of ${doing} (apt-get source)`, fetches, fetching, () =>
    fetchSources(incoming, sourcePackages, fetching),
  );
  rmSync(downloads, { recursive: true, force: true });
  renameSync(incoming, downloads);
  const sources = sourcesIn(downloads, part);
  if (sources === undefined) throw new SetupFailure(`Sources are missing in ${downloads}.`);
  return sources;
}

/**
 * Puts the files into the clone as links, or as copies if links are not possible. Another user may run the server.
 *
 * @param {string} built @param {Part} part
 */
function link(built, part) {
  const incoming = emptied(`${folder}.new`);
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(built)) {
    try {
      linkSync(join(built, name), join(incoming, name));
    } catch {
      copyFileSync(join(built, name), join(incoming, name));
    }
    renameSync(join(incoming, name), join(folder, name));
  }
  rmSync(incoming, { recursive: true });
  // The executable's copy of the image that was there before.
  rmSync(join(folder, 'recogniser.image.zst'), { force: true });
  writeFileSync(stampOf(part), hashOf([]));
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
