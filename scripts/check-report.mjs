/** What `npm test -- --all` reads in the report of vitest's JSON reporter. */
import { relative } from 'node:path';
import { root } from './setup/run.mjs';

/**
 * @typedef {{ status: string, fullName: string }} Test
 * @typedef {{ name: string, status: string, assertionResults: readonly Test[] }} File
 * @typedef {{ testResults: readonly File[] }} Report
 */

/** More files than this are no accident of a busy machine. */
const filesMax = 10;

/**
 * Rounds of random failures, which find a fault once in many runs: what they found counts, whatever a second run finds.
 */
const final = ['test/slow/abuse.test.ts', 'test/slow/campaign.test.ts', 'test/slow/fuzz.test.ts'];

/**
 * The files to run once more, by their paths from the root: those in which a test failed. None if they are more than ten, or if one of
 * them is final.
 *
 * @param {Report | undefined} report
 */
export function failedFiles(report) {
  const files = [...new Set(failed(report).map(({ name }) => relative(root, name)))];
  return files.length > filesMax || files.some((file) => final.includes(file)) ? [] : files;
}

/**
 * The names of the failed tests, or of a file that failed as a whole.
 *
 * @param {Report | undefined} report
 */
export function failedTests(report) {
  return failed(report).flatMap(({ name, assertionResults }) => {
    const file = relative(root, name);
    const tests = assertionResults.filter(({ status }) => status === 'failed');
    return tests.length > 0 ? tests.map(({ fullName }) => `${file}: ${fullName}`) : [file];
  });
}

/** @param {Report | undefined} report */
const failed = (report) => (report?.testResults ?? []).filter(({ status }) => status === 'failed');
