/** Lets one set-up at a time work in a clone. */
import { randomUUID } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  futimesSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode, SetupFailure } from './failure.mjs';
import { paths } from './project.mjs';
import { say } from './say.mjs';

/** A holder renews its lock. One that has not for so long is gone, whichever process has its id now. */
const renewEveryMs = 2_000;
const staleAfterMs = 30_000;
const askEveryMs = 200;

/**
 * Waits for the lock, however long its holder works, and takes it. Resolves to the function that gives it back.
 *
 * @param {string} [path]
 */
export async function lock(path = join(paths.notes, 'lock')) {
  makeFolder(dirname(path));
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), token: randomUUID() });
  let file = take(path, mine);
  for (let hasSaid = false; file === undefined; file = take(path, mine)) {
    const holder = holderOf(path);
    if (holder === undefined) continue; // given back just now
    if (holder.isGone) {
      removeStale(path, holder.text);
      continue;
    }
    if (!hasSaid) say(`Waiting for the set-up of process ${holder.pid}, which works in this folder ...`);
    hasSaid = true;
    await sleep(askEveryMs);
  }
  return keep(file, path, mine);
}

/** @param {string} folder */
function makeFolder(folder) {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (cause) {
    if (!hasCode(cause, 'EACCES', 'EPERM', 'EROFS')) throw cause;
    throw new SetupFailure(`This user may not write in ${folder}: let the owner of the clone run set-up.`, {
      cause,
    });
  }
}

/**
 * @param {string} path
 * @param {string} text
 * @returns {number | undefined} the open file, or undefined where another holds the lock
 */
function take(path, text) {
  try {
    const file = openSync(path, 'wx');
    writeSync(file, text);
    return file;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return undefined;
    throw error;
  }
}

/**
 * @param {number} file
 * @param {string} path
 * @param {string} text
 */
function keep(file, path, text) {
  const renewal = setInterval(() => futimesSync(file, new Date(), new Date()), renewEveryMs).unref();
  const giveBack = () => {
    process.off('exit', giveBack);
    clearInterval(renewal);
    closeSync(file);
    if (holderOf(path)?.text === text) rmSync(path);
  };
  process.on('exit', giveBack);
  return giveBack;
}

/**
 * @param {string} path
 * @returns {{ text: string, pid: number, isGone: boolean } | undefined} undefined where nobody holds the lock
 */
function holderOf(path) {
  try {
    const text = readFileSync(path, 'utf8');
    const isOld = Date.now() - statSync(path).mtimeMs > staleAfterMs;
    // The file is empty for a moment until its holder has written it, and for ever if the machine stopped just then.
    const { pid, host } = text === '' ? { pid: 0, host: '' } : JSON.parse(text);
    return { text, pid, isGone: isOld || (host === hostname() && !isAlive(pid)) };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

/**
 * Takes a stale lock away. Of several that wait one may be so late that it takes the new lock of another: that one goes
 * back to its place.
 *
 * @param {string} path
 * @param {string} staleText
 */
function removeStale(path, staleText) {
  const aside = `${path}.${process.pid}`;
  try {
    renameSync(path, aside);
    if (readFileSync(aside, 'utf8') !== staleText) linkSync(aside, path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT', 'EEXIST')) throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}
