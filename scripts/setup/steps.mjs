/** Runs the steps of set-up. Only one set-up at a time changes a clone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root, SetupFailure, say, stopSignal } from './run.mjs';

/** Files that set-up and the checks keep for themselves. */
export const notes = join(root, '.setup');

/**
 * @typedef {object} Step
 * @property {string} [doing] what the step does, in words for the terminal; a step of milliseconds has none
 * @property {string} [takes] how long that takes on two cores
 * @property {() => Promise<boolean>} isDone takes milliseconds and changes nothing
 * @property {(lock: number) => Promise<void>} work `lock` is the file of the set-up lock
 * @property {() => string} [progress] how much of the work is done
 */

/**
 * Runs the steps that are not done, in order; those of a list at the same time. Throws the error of the first step that fails.
 *
 * @param {readonly (Step | readonly Step[])[]} steps
 */
export async function doSteps(steps) {
  /** @type {number | undefined} */
  let lock;
  for (const group of steps) {
    const missing = await notDone([group].flat());
    if (missing.length === 0) continue;
    lock ??= await takeLock(join(notes, 'lock'));
    const held = lock;
    // Another set-up may have done them meanwhile.
    await Promise.all((await notDone(missing)).map((step) => doStep(step, held)));
  }
  if (lock !== undefined) closeSync(lock);
}

/** @param {readonly Step[]} steps */
async function notDone(steps) {
  const done = await Promise.all(steps.map((step) => step.isDone()));
  return steps.filter((_, index) => !done[index]);
}

/** The wait before the first line of progress. Each later one takes twice as long, so that they leave other text in view. */
const progressAfterMs = 10_000;

/**
 * Does a step. Prints whole lines only, as several steps may run at the same time.
 *
 * @template Lock
 * @param {{ doing?: string, takes?: string, work: (lock: Lock) => Promise<void>, progress?: () => string }} step
 * @param {Lock} lock
 */
export async function doStep({ doing, takes, work, progress }, lock) {
  if (doing === undefined) return work(lock);
  const started = performance.now();
  say(`${doing}${takes === undefined ? '' : `: takes ${takes}`} ...`);
  const stopSaying = progress === undefined ? () => {} : sayProgress(doing, progress);
  try {
    await work(lock);
  } finally {
    stopSaying();
  }
  say(`${doing}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
}

/** @param {string} doing @param {() => string} progress @returns a function that ends it */
function sayProgress(doing, progress) {
  /** @type {NodeJS.Timeout} */
  let timer;
  /** @param {number} afterMs */
  const sayLater = (afterMs) => {
    timer = setTimeout(() => {
      say(`  ${doing}: ${progress()}`);
      sayLater(2 * afterMs);
    }, afterMs);
    // A step that is stopped never ends, and must not keep the process.
    timer.unref();
  };
  sayLater(progressAfterMs);
  return () => clearTimeout(timer);
}

/**
 * Waits until no other set-up has the lock, and returns the locked file. flock(1) locks the open file, which this
 * process shares with it: the system unlocks the file when all processes that share it have closed it or ended. Without
 * flock, concurrent set-ups are not kept apart.
 *
 * @param {string} path
 */
export async function takeLock(path) {
  const file = openLockFile(path);
  /** @param {string[]} flags */
  const flock = (...flags) =>
    once(
      spawn('flock', [...flags, '3'], { signal: stopSignal, stdio: ['ignore', 'ignore', 'ignore', file] }),
      'exit',
    );
  const [code] = await flock('-n').catch(() => []);
  if (code === 1) {
    say('Waiting for another set-up ...');
    await flock();
  }
  return file;
}

/** @param {string} path */
function openLockFile(path) {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, 'w');
  } catch (error) {
    throw new SetupFailure(`Set-up cannot write in the clone: let its owner run the command. ${error}`);
  }
}
