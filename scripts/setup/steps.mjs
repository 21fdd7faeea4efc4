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
 * @property {string} doing what the step does, in words for the terminal
 * @property {() => Promise<boolean>} isDone takes milliseconds and changes nothing
 * @property {(lock: number) => Promise<void>} work `lock` is the file of the set-up lock
 */

/**
 * Runs the steps that are not done, in order. Throws the error of the first step that fails.
 *
 * @param {readonly Step[]} steps
 */
export async function doSteps(steps) {
  let lock;
  for (const step of steps) {
    if (await step.isDone()) continue;
    lock ??= await takeLock(join(notes, 'lock'));
    const isDoneByAnother = await step.isDone();
    if (!isDoneByAnother) await doStep(step, lock);
  }
  if (lock !== undefined) closeSync(lock);
}

/**
 * Does a step. Prints whole lines only, as several steps may run at the same time.
 *
 * @template Lock
 * @param {{ doing: string, work: (lock: Lock) => Promise<void> }} step
 * @param {Lock} lock
 */
export async function doStep({ doing, work }, lock) {
  const started = performance.now();
  say(`${doing} ...`);
  await work(lock);
  say(`${doing}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
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
