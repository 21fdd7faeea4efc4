/**
 * `npm test`: checks style, types, schemas and generated code, then runs the tests.
 *
 *   npm test                          all of these
 *   npm test -- --all                 also the slow tests in test/slow, as .ci/run does
 *   npm test -- --release             also those of an executable for another processor, and more rounds of others
 *   npm test -- test/tidy.test.ts     only these tests: all words after `--` go to vitest
 *
 * With --all and --release, files in which a test failed run once more, alone (`failedFiles`): a test that fails twice has failed. The last
 * lines of a whole run name the tests that only passed alone, count the checks and tests that passed and failed, and name those that failed.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build, checks } from './check-list.mjs';
import { failedFiles, failedTests } from './check-report.mjs';
import { packages, provide } from './setup/programs.mjs';
import { root } from './setup/run.mjs';
import { notes } from './setup/steps.mjs';

/** @typedef {{ name: string, passed: number, failed: number, skipped: number, onlyAlone?: readonly string[] }} Outcome */

const slowConfig = ['--config', 'test/slow/vitest.config.ts'];
const report = join(notes, 'test-report.json');

/** @param {'first' | 'all' | 'release'} tier */
async function runAll(tier) {
  process.env['TEST_TIER'] = tier;
  const withSlow = tier !== 'first';
  // New random cases before a change is taken, and the same ones in all other runs, which must not fail for a fault that was there before.
  process.env['TEST_SEED'] ??= String(withSlow ? Date.now() % 2 ** 31 : 1);
  if (withSlow) process.stdout.write(`TEST_SEED=${process.env['TEST_SEED']}\n`);
  const built = await runCheck(build);
  const outcomes = [built.ok ? told(built) : outcomeOf(built)];
  // Beside the tests, which wait a third of the time, run the other checks and the set-up of programs that the slow tests need.
  const checking = Promise.all(checks.map(runCheck));
  const provided = withSlow && provide(neededFor(tier));
  const tested = await runTests('tests', []);
  outcomes.push(...(await checking).map(told), tested);
  await provided;
  if (withSlow) outcomes.push(await runTests('slow tests', [...slowConfig, '--passWithNoTests']));
  for (const test of outcomes.flatMap(({ onlyAlone = [] }) => onlyAlone))
    process.stdout.write(`passed only alone: ${test}\n`);
  process.stdout.write(`\n${summaryOf(outcomes)}\n`);
  return outcomes.some(({ failed }) => failed > 0) ? 1 : 0;
}

/** @param {'all' | 'release'} tier */
const neededFor = (tier) =>
  tier === 'release' ? { ...packages.slowTests, ...packages.release } : packages.slowTests;

/**
 * Runs a check, and says at once if it fails.
 *
 * @param {import('./check-list.mjs').Check} check
 */
async function runCheck({ name, check }) {
  const started = performance.now();
  const { ok, output } = await check();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const line = ok ? `passed  ${name} (${seconds} s)\n` : `FAILED  ${name} (${seconds} s)\n${output}\n`;
  if (!ok) process.stdout.write(line);
  return { name, ok, line };
}

/** @param {{ name: string, ok: boolean }} ended @returns {Outcome} */
const outcomeOf = ({ name, ok }) => ({ name, passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 });

/**
 * Says how a check ended, again after a failure: the lines of the tests may have hidden it.
 *
 * @param {{ name: string, ok: boolean, line: string }} ended
 */
function told(ended) {
  process.stdout.write(ended.line);
  return outcomeOf(ended);
}

/** @param {string} name @param {readonly string[]} args @returns {Promise<Outcome>} */
async function runTests(name, args) {
  const { exitCode, result } = await runVitest(args);
  const { numPassedTests = 0, numFailedTests = 0, numPendingTests: skipped = 0 } = result ?? {};
  // A file that fails to load, or an error outside of all tests, makes vitest fail without a failed test.
  const failed = exitCode === 0 ? 0 : Math.max(numFailedTests, 1);
  const again = process.env['TEST_TIER'] === 'first' ? [] : failedFiles(result);
  if (again.length === 0) return { name, passed: numPassedTests, failed, skipped };
  process.stdout.write(`\nRuns once more, alone, what failed: ${again.join(', ')}\n`);
  const second = await runVitest([...args, '--maxWorkers=1', ...again]);
  const stillFailed = second.exitCode === 0 ? 0 : Math.max(second.result?.numFailedTests ?? 0, 1);
  const onlyAlone = second.exitCode === 0 ? failedTests(result) : [];
  const passed = numPassedTests + Math.max(0, numFailedTests - stillFailed);
  return { name, passed, failed: stillFailed, skipped, onlyAlone };
}

/** @param {readonly string[]} args */
async function runVitest(args) {
  rmSync(report, { force: true });
  const exitCode = await vitest([
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...args,
  ]);
  const result = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : undefined;
  return { exitCode, result };
}

/**
 * Runs vitest on this terminal, hands signals to it, and resolves to its exit code.
 *
 * @param {readonly string[]} args
 * @returns {Promise<number>}
 */
function vitest(args) {
  // Without this vitest would colour a log file too.
  const env = process.stdout.isTTY ? process.env : { ...process.env, NO_COLOR: '1' };
  const child = spawn('vitest', ['run', ...args], { cwd: root, env, stdio: 'inherit' });
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    const pass = () => {
      child.kill(signal);
      child.once('exit', () => process.exit(1));
    };
    process.once(signal, pass);
    child.once('exit', () => process.off(signal, pass));
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

/** @param {readonly Outcome[]} outcomes */
function summaryOf(outcomes) {
  /** @param {'passed' | 'failed' | 'skipped'} kind */
  const sum = (kind) => outcomes.reduce((total, outcome) => total + outcome[kind], 0);
  const skipped = sum('skipped') > 0 ? `, ${sum('skipped')} skipped` : '';
  const failedNames = outcomes.filter(({ failed }) => failed > 0).map(({ name }) => name);
  const named = failedNames.length > 0 ? `: ${failedNames.join(', ')}` : '';
  return `${sum('passed')} passed, ${sum('failed')} failed${skipped}${named}`;
}

const args = process.argv.slice(2);
const tier = /** @type {const} */ ({ '': 'first', '--all': 'all', '--release': 'release' })[args.join()];
if (tier !== undefined) process.exitCode = await runAll(tier);
else
  process.exitCode = await vitest([
    ...(args.some((arg) => arg.includes('test/slow')) ? slowConfig : []),
    ...args,
  ]);
