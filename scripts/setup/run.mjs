/** Runs programs for set-up, and tells people about it. Runs on any Node from 20 on, before anything is installed. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** npm and apt-get can print much. */
const outputBytesMax = 64 * 1024 ** 2;

/** A failure that people can mend: its message says how. */
export class SetupFailure extends Error {}

/** Prints on stderr: stdout belongs to the program that runs after set-up. @param {string} text */
export function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

/**
 * Runs a program to its end. It gets no stdin, so that it cannot ask a question and wait.
 *
 * @param {readonly string[]} command the program and its arguments
 * @param {object} [options]
 * @param {string} [options.cwd] the root of the project by default
 * @param {NodeJS.ProcessEnv} [options.env] the environment of this process by default
 * @param {number} [options.timeoutMs] no limit by default
 * @param {number} [options.lock] the file of the set-up lock: an orphaned program keeps the lock until it ends
 * @returns {{ ok: boolean, output: string }} stdout, then stderr; not ok if the program is missing or took too long
 */
export function run([program = '', ...args], { cwd = root, env, timeoutMs, lock } = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env,
    timeout: timeoutMs,
    stdio: ['ignore', 'pipe', 'pipe', lock ?? 'ignore'],
    maxBuffer: outputBytesMax,
    encoding: 'utf8',
  });
  return { ok: status === 0, output: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}`.trim() };
}
