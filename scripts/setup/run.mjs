/** Runs programs for set-up, and prints messages. Works on any Node from 20 on, before anything is installed. */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** A failure that people can fix: its message says how. */
export class SetupFailure extends Error {}

/** Prints on stderr, as stdout belongs to the program that runs after set-up. @param {string} text */
export function say(text) {
  process.stderr.write(`setup: ${text}\n`);
}

const stopping = new AbortController();

/** Ends the programs that set-up runs and prevents new ones. Steps that wait for one never continue. */
export function stop() {
  stopping.abort();
}

/** Aborted by `stop`. */
export const stopSignal = stopping.signal;

/**
 * Runs a program to its end. It gets no input, so that it cannot ask a question and wait.
 *
 * @param {readonly string[]} command the program and its arguments
 * @param {import('node:child_process').SpawnOptions & { lock?: number, onOutput?: (text: string) => void }} [options] in the root of the project by default.
 *   With the file of the set-up lock, the program keeps the lock until it ends, even if this process ends before.
 *   With `signal: undefined` it goes on after `stop`, for programs that must not be interrupted.
 * @returns {Promise<{ ok: boolean, output: string }>} stdout and stderr; not ok if the program is missing or was ended. Stays
 *   pending after `stop`.
 */
export function run([program = '', ...args], { lock, onOutput, ...options } = {}) {
  return new Promise((settle) => {
    /** @param {{ ok: boolean, output: string }} result */
    const resolve = (result) => stopSignal.aborted || settle(result);
    if (stopSignal.aborted) return;
    const child = spawn(program, args, {
      cwd: root,
      signal: stopSignal,
      ...options,
      stdio: ['ignore', 'pipe', 'pipe', lock ?? 'ignore'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text) => {
        output += text;
        onOutput?.(text);
      });
    }
    child.once('error', ({ message }) => resolve({ ok: false, output: message }));
    child.once('close', (code, signal) => {
      const end = signal === null ? '' : `\n${signal} ended ${program}.`;
      resolve({ ok: code === 0, output: `${output}${end}`.trim() });
    });
  });
}
