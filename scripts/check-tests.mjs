/** The tests, by vitest on this terminal. */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { paths, projectEnvironment } from './setup/project.mjs';
import { runInForeground } from './setup/run.mjs';

/**
 * Runs vitest and resolves to its exit code. It would colour a log file too.
 *
 * @param {readonly string[]} args
 */
export function vitest(args) {
  const plain = process.stdout.isTTY ? {} : { NO_COLOR: '1' };
  return runInForeground(['vitest', 'run', ...args], { ...plain, ...projectEnvironment() });
}

/**
 * Runs vitest and counts.
 *
 * @param {string} name
 * @param {readonly string[]} args
 * @returns {Promise<import('./check.mjs').Outcome>}
 */
export async function runTests(name, args) {
  const report = join(paths.notes, 'test-report.json');
  mkdirSync(paths.notes, { recursive: true });
  rmSync(report, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const exitCode = await vitest([...reporters, ...args]);
  const counts = existsSync(report) ? countsOf(JSON.parse(readFileSync(report, 'utf8'))) : noCounts;
  // A run can fail without a test that does: by an error outside of them all, or before the first.
  const failed = exitCode === 0 ? counts.failed : Math.max(counts.failed, 1);
  return { name, ...counts, failed };
}

const noCounts = { passed: 0, failed: 0, skipped: 0 };

/**
 * A file that does not load counts as one failed test.
 *
 * @typedef {{ status: string, assertionResults: readonly unknown[] }} FileReport
 * @param {{ numPassedTests: number, numFailedTests: number, numPendingTests: number, testResults: FileReport[] }} report
 */
function countsOf({ numPassedTests, numFailedTests, numPendingTests, testResults }) {
  const unloaded = testResults.filter(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  return { passed: numPassedTests, failed: numFailedTests + unloaded.length, skipped: numPendingTests };
}
