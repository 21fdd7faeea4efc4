/** Runs the steps of set-up. Only one set-up at a time changes a clone. */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { root, SetupFailure, say } from './run.mjs';

/** Files that set-up and the checks write for themselves. */
export const notes = join(root, '.setup');

/**
 * @typedef {object} Step
 * @property {string} doing what the step does, in words for the terminal
 * @property {() => boolean} isDone takes milliseconds and changes nothing
 * @property {(lock: number) => void} work
 */

/**
 * Runs the steps that are not done, in order. Throws what the first failing step throws.
 *
 * @param {readonly Step[]} steps
 */
export function doSteps(steps) {
  if (steps.every(({ isDone }) => isDone())) return;
  const lock = takeLock();
  for (const step of steps) {
    if (!step.isDone()) doStep(step, lock);
  }
  closeSync(lock);
}

/** @param {Step} step @param {number} lock */
function doStep({ doing, work }, lock) {
  const started = performance.now();
  process.stderr.write(`setup: ${doing} ...`);
  try {
    work(lock);
    process.stderr.write(` ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
  } catch (error) {
    process.stderr.write(' failed\n');
    throw error;
  }
}

/**
 * Waits until no other set-up works in this clone, and returns the locked file. flock(1) locks the open file, which this
 * process shares: the system unlocks it when this process and the programs that it gave the file have ended, however they
 * end. Where there is no flock, concurrent set-ups are not kept apart.
 */
function takeLock() {
  const file = openLockFile();
  /** @param {string[]} flags */
  const flock = (...flags) =>
    spawnSync('flock', [...flags, '3'], { stdio: ['ignore', 'ignore', 'ignore', file] });
  if (flock('--nonblock').status === 1) {
    say('Waiting for another set-up in this folder ...');
    flock();
  }
  return file;
}

function openLockFile() {
  try {
    mkdirSync(notes, { recursive: true });
    return openSync(join(notes, 'lock'), 'w');
  } catch (error) {
    throw new SetupFailure(`Set-up cannot write in the clone: let its owner run the command. ${error}`);
  }
}
