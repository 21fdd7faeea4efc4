/** Runs the steps of set-up. Only one set-up at a time changes a clone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { root, SetupFailure, say } from './run.mjs';

/** Files that set-up and the checks write for themselves. */
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
    lock ??= await takeLock();
    const isDoneByAnother = await step.isDone();
    if (!isDoneByAnother) await doStep(step, lock);
  }
  if (lock !== undefined) closeSync(lock);
}

/** @param {Step} step @param {number} lock */
async function doStep({ doing, work }, lock) {
  const started = performance.now();
  process.stderr.write(`setup: ${doing} ...`);
  try {
    await work(lock);
    process.stderr.write(` ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
  } catch (error) {
    process.stderr.write(' failed\n');
    throw error;
  }
}

/**
 * Waits until no other set-up works in this clone, and returns the locked file. flock(1) locks the open file, which this
 * process shares with it: the system unlocks the file when all processes that share it have closed it or ended. Without
 * flock, concurrent set-ups are not kept apart.
 */
async function takeLock() {
  const file = openLockFile();
  /** @param {string[]} flags */
  const flock = (...flags) =>
    once(spawn('flock', [...flags, '3'], { stdio: ['ignore', 'ignore', 'ignore', file] }), 'exit');
  const [code] = await flock('-n').catch(() => []);
  if (code === 1) {
    say('Waiting for another set-up in this folder ...');
    await flock();
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
