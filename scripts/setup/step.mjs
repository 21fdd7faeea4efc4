import { lock } from './lock.mjs';
import { say } from './say.mjs';

/**
 * A step of set-up. Asking whether it is done takes milliseconds and changes nothing.
 *
 * @typedef {object} Step
 * @property {string} doing what it does, in words for the terminal
 * @property {() => Promise<boolean>} isDone
 * @property {(again: string) => Promise<void>} work `again` is the command for people to run after a failure
 */

/**
 * Does the steps that are not done, one after the other, while no other set-up of this clone does.
 *
 * @param {readonly Step[]} steps
 * @param {string} again
 */
export async function doSteps(steps, again) {
  if (await areDone(steps)) return;
  const unlock = await lock();
  try {
    for (const step of steps) {
      if (!(await step.isDone())) await announce(step, again);
    }
  } finally {
    unlock();
  }
}

/** @param {readonly Step[]} steps */
async function areDone(steps) {
  for (const step of steps) {
    if (!(await step.isDone())) return false;
  }
  return true;
}

/**
 * @param {Step} step
 * @param {string} again
 */
async function announce(step, again) {
  const started = performance.now();
  say(`${step.doing} ...`, { endLine: false });
  try {
    await step.work(again);
    say(` ${((performance.now() - started) / 1000).toFixed(1)} s`, { isNew: false });
  } catch (error) {
    say(' failed', { isNew: false });
    throw error;
  }
}
