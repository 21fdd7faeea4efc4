/** Runs the programs that set-up needs. */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { constants as systemConstants } from 'node:os';
import { delimiter, join } from 'node:path';
import { root } from './project.mjs';

/** How much of a program's output is kept, from its end: that is where failures are explained. */
const keptCharactersMax = 20_000;

/** A service that an installation has started may hold on to the output for as long as it runs. */
const outputGraceMs = 1_000;

/** The programs that run, each with the signal that ends it. @type {Map<import('node:child_process').ChildProcess, NodeJS.Signals>} */
const running = new Map();

/**
 * Runs a program to its end and keeps its output. It is given no stdin, so that it cannot ask and wait.
 *
 * @typedef {object} RunOptions
 * @property {string} [cwd] the root of the project by default
 * @property {NodeJS.ProcessEnv} [env]
 * @property {number} [timeoutMs] without limit by default
 * @property {NodeJS.Signals} [endSignal] ends it, at its time limit or with set-up: SIGTERM by default
 *
 * @param {readonly string[]} command the program and its arguments
 * @param {RunOptions} [options]
 * @returns {Promise<{ ok: boolean, output: string }>} not ok too where the program is missing, or was ended at its time limit
 */
export function run([program = '', ...args], options = {}) {
  const { cwd = root, env = process.env, timeoutMs = 0, endSignal = 'SIGTERM' } = options;
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.set(child, endSignal);
    const timeLimit = timeoutMs > 0 ? setTimeout(() => child.kill(endSignal), timeoutMs) : undefined;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => {
        output = (output + text).slice(-keptCharactersMax);
      });
    }
    /** @param {boolean} ok @param {string} [remark] */
    const finish = (ok, remark = '') => {
      running.delete(child);
      clearTimeout(timeLimit);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ ok, output: `${output}${remark}`.trim() });
    };
    child.on('error', (error) => finish(false, error.message));
    child.once('exit', (code, signal) => {
      const remark = signal === null ? '' : `\n${program} was ended by ${signal}.`;
      const grace = setTimeout(finish, outputGraceMs, code === 0, remark);
      child.once('close', () => {
        clearTimeout(grace);
        finish(code === 0, remark);
      });
    });
  });
}

/**
 * Runs a program on this terminal, hands signals to it, and resolves to its exit code.
 *
 * @param {readonly string[]} command the program and its arguments
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<number>}
 */
export function runInForeground([program = '', ...args], env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, env, stdio: 'inherit' });
    foreground = child;
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? exitCodeOf(signal)));
  });
}

/** @type {import('node:child_process').ChildProcess | undefined} */
let foreground;

/**
 * Lets no program outlive this process, which ends on a signal, but not before the program on its terminal. npm sends its
 * signals to the shell between, which dies of them without a word, so the loss of that parent counts as a signal too.
 */
export function endProgramsWithThisProcess() {
  /** @param {NodeJS.Signals} signal */
  const end = (signal) => {
    clearInterval(watch);
    for (const [child, endSignal] of running) child.kill(endSignal);
    const exit = () => process.exit(exitCodeOf(signal));
    if (foreground?.kill(signal)) foreground.once('exit', exit);
    else exit();
  };
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, end);
  const parent = process.ppid;
  const isOfNpm = process.env['npm_lifecycle_event'] !== undefined;
  const watch = setInterval(() => isOfNpm && process.ppid !== parent && end('SIGTERM'), 500).unref();
}

/** As shells count it. @param {NodeJS.Signals | null} signal */
function exitCodeOf(signal) {
  return 128 + (signal === null ? 0 : systemConstants.signals[signal]);
}

/** The path of a program as PATH leads to it. @param {string} name */
export function findProgram(name) {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
