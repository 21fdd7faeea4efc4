/** Runs programs for set-up, and tells people about it. Runs on any Node from 20 on, before anything is installed. */
import { execFile } from 'node:child_process';
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
 * Runs a program to its end. It gets no input, so that it cannot ask a question and wait.
 *
 * @param {readonly string[]} command the program and its arguments
 * @param {import('node:child_process').ExecFileOptions} [options] in the root of the project and without a time limit by default
 * @returns {Promise<{ ok: boolean, output: string }>} stdout, then stderr; not ok if the program is missing or took too long
 */
export function run([program = '', ...args], options = {}) {
  return new Promise((resolve) => {
    const settings = { cwd: root, maxBuffer: outputBytesMax, ...options };
    const child = execFile(program, args, settings, (error, stdout, stderr) => {
      const end = error?.killed ? `\n${program} took too long.` : '';
      const output = `${stdout}${stderr}${end}`.trim();
      resolve({ ok: error === null, output: output || (error?.message ?? '') });
    });
    child.stdin?.end();
  });
}
