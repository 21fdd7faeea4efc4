import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, SetupFailure } from '../setup/run.mjs';

/** Lends a folder to some work, in which new files are readable for all, and removes it afterwards. @template T @param {(folder: string) => Promise<T>} work */
export async function withScratch(work) {
  const before = process.umask(0o022);
  const folder = mkdtempSync(join(tmpdir(), 'parley-release-'));
  try {
    return await work(folder);
  } finally {
    process.umask(before);
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Runs a program that must not fail, with the time of the release as SOURCE_DATE_EPOCH, and returns its output.
 *
 * @param {readonly string[]} command
 * @param {{ epoch: string, cwd?: string }} options
 */
export async function mustRun(command, { epoch, ...options }) {
  const env = { ...process.env, SOURCE_DATE_EPOCH: epoch, LC_ALL: 'C.UTF-8', TZ: 'UTC' };
  const { ok, output } = await run(command, { ...options, env });
  if (!ok) throw new SetupFailure(`\`${command.join(' ')}\` failed. ${output}`);
  return output;
}
