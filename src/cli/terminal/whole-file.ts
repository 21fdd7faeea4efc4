/** Writes files atomically. */
import { realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileReason, systemCode } from '../../files/reason.ts';
import { CliError } from './command.ts';

/**
 * Writes to a temporary file in the same folder and renames it at the end. Writes directly to a device or a pipe.
 * @throws CliError if the file cannot be written, or the error of `parts`; then the file is unchanged
 */
export async function writeWhole(path: string, parts: AsyncIterable<Uint8Array> | string): Promise<void> {
  try {
    const { target, isReplaceable } = await resolveTarget(path);
    if (!isReplaceable) return await writeFile(target, parts);
    const unfinished = join(dirname(target), `.${basename(target)}.${process.pid}.part`);
    try {
      await writeFile(unfinished, parts);
      await rename(unfinished, target);
    } finally {
      await rm(unfinished, { force: true });
    }
  } catch (error) {
    if (error instanceof CliError || systemCode(error) === undefined) throw error;
    const message = `${path} cannot be written (${fileReason(error)}). Choose another place for it.`;
    throw new CliError(message, error);
  }
}

async function resolveTarget(path: string): Promise<{ target: string; isReplaceable: boolean }> {
  try {
    const target = await realpath(path);
    return { target, isReplaceable: (await stat(target)).isFile() };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { target: path, isReplaceable: true };
    throw error;
  }
}
