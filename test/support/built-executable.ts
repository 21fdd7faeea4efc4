/** The executable, built once for all slow tests of a run: the first test file that needs it builds it, others wait. */
import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ended, until } from './command-line.ts';

export const buildMsMax = 600_000;
const project = new URL('../..', import.meta.url).pathname;
/** All test files of a run have the same parent process. */
const folder = join(project, '.setup', `executable-${process.ppid}`);
const failure = join(folder, 'failure');
const file = join(folder, 'parley');

/** @param arch Default: that of this machine. */
export async function buildExecutable(output: string, ...arch: string[]): Promise<void> {
  const script = join(project, 'scripts/build-binary.mjs');
  const { code, stderr } = await ended(spawn(process.execPath, [script, output, ...arch]));
  if (code !== 0) throw new Error(`the build failed: ${stderr}`);
}

/** The path of an executable that no test may change. */
export async function builtExecutable(): Promise<string> {
  if (isFirst()) {
    removeOlder();
    await buildExecutable(file).catch((error: unknown) => writeFileSync(failure, String(error)));
  }
  await until(() => existsSync(file) || existsSync(failure), buildMsMax);
  if (existsSync(failure)) throw new Error(readFileSync(failure, 'utf8'));
  return file;
}

function isFirst(): boolean {
  mkdirSync(join(project, '.setup'), { recursive: true });
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** Removes the executables of runs that have ended. */
function removeOlder(): void {
  for (const other of globSync('executable-*', { cwd: join(project, '.setup') })) {
    const pid = other.replace('executable-', '');
    if (!existsSync(`/proc/${pid}`)) rmSync(join(project, '.setup', other), { recursive: true });
  }
}
