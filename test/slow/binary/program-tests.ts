import { spawn } from 'node:child_process';
import { ended } from '../../support/command-line.ts';

/** Runs test files with an executable in place of dist/. Returns the exit code, and the lines about each failure. */
export async function runTestsWith(
  executable: string,
  names: readonly string[],
): Promise<{ readonly code: number | null; readonly failures: readonly string[] }> {
  const vitest = new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url).pathname;
  const files = names.map((name) => `test/${name}.test.ts`);
  const env = { ...process.env, NO_COLOR: '1', PARLEY_TEST_PROGRAM: executable };
  // The program under test keeps its data in SQLite, also in a test that runs on both databases.
  const args = ['run', '--config', 'vitest.config.ts', '--project', 'sqlite', ...files];
  const child = spawn(process.execPath, [vitest, ...args], { env });
  const { code, stdout, stderr } = await ended(child);
  const failures = [...`${stdout}\n${stderr}`.matchAll(/^.*FAIL.*(?:\n.*){0,2}/gm)];
  return { code, failures: failures.map(([line]) => line.trim()) };
}
