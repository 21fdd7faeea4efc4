import { spawn } from 'node:child_process';
import { ended } from '../../support/command-line.ts';

/** Runs test files with a program in place of the sources, or with the sources. Returns the exit code, and the lines about each failure. */
export async function runTestsWith(
  program: string | undefined,
  names: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly failures: readonly string[] }> {
  const vitest = new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url).pathname;
  const files = names.map((name) => `test/${name}.test.ts`);
  const env = {
    ...process.env,
    NO_COLOR: '1',
    ...variables,
    ...(program !== undefined && { PARLEY_TEST_PROGRAM: program }),
  };
  // The program under test keeps its data in SQLite, also in a test that runs on both databases.
  const args = ['run', '--config', 'vitest.config.ts', '--project', 'sqlite', ...files];
  const child = spawn(process.execPath, [vitest, ...args], { env });
  const { code, stdout, stderr } = await ended(child);
  const failures = [...`${stdout}\n${stderr}`.matchAll(/^.*FAIL.*(?:\n.*){0,2}/gm)];
  return { code, failures: failures.map(([line]) => line.trim()) };
}
