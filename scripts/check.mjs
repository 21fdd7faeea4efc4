/**
 * `npm test`: the style, the types, the schemas and the generated code, then the tests.
 *
 *   npm test                          all of that
 *   npm test -- --all                 the slow proofs in test/slow too, as .ci/run does
 *   npm test -- test/money.test.ts    nothing but these tests, as all words after `--` are vitest's: who names a test waits
 *                                     for its answer, and has the whole run for the rest
 *
 * The last line of a whole run counts the checks and tests that have passed and failed, and names the checks that have failed.
 */
import { checks } from './check-list.mjs';
import { runTests, vitest } from './check-tests.mjs';
import { endProgramsWithThisProcess } from './setup/run.mjs';

/** @typedef {{ name: string, passed: number, failed: number, skipped: number }} Outcome */

const slowFolder = 'test/slow';
const slowConfig = ['--config', `${slowFolder}/vitest.config.ts`];

/** @param {boolean} withSlow */
async function runAll(withSlow) {
  const outcomes = await Promise.all(checks.map(runCheck));
  outcomes.push(await runTests('tests', []));
  if (withSlow) outcomes.push(await runTests('slow tests', [...slowConfig, '--passWithNoTests']));
  process.stdout.write(`\n${summaryOf(outcomes)}\n`);
  return outcomes.some(({ failed }) => failed > 0) ? 1 : 0;
}

/**
 * @param {import('./check-list.mjs').Check} check
 * @returns {Promise<Outcome>}
 */
async function runCheck({ name, check }) {
  const started = performance.now();
  const { ok, output } = await check();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${ok ? 'passed' : 'FAILED'}  ${name} (${seconds} s)\n${ok ? '' : `${output}\n`}`);
  return { name, passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
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

/** @param {readonly string[]} args */
function runNamedTests(args) {
  const config = args.some((arg) => arg.includes(slowFolder)) ? slowConfig : [];
  return vitest([...config, ...args]);
}

endProgramsWithThisProcess();
const args = process.argv.slice(2);
const isWhole = args.length === 0 || args.join() === '--all';
process.exitCode = await (isWhole ? runAll(args.length > 0) : runNamedTests(args));
