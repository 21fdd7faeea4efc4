/** Files that appear whole or not at all: what fails half-way leaves nothing behind. */
import { createWriteStream } from 'node:fs';
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { finished } from 'node:stream/promises';
import { fileReason, systemCode } from '../../files/reason.ts';
import { CliError } from '../terminal/cli-error.ts';

/**
 * Writes what comes beside the file and puts it in its place at the end.
 *
 * @throws CliError where the file cannot be written; what `parts` throws, and then there is no new file
 */
export async function writeWhole(
  path: string,
  parts: AsyncIterable<Uint8Array> | Iterable<string>,
): Promise<void> {
  const { target, isReplaceable } = await place(path);
  const unfinished = join(dirname(target), `.${basename(target)}.${process.pid}.part`);
  const written = isReplaceable ? unfinished : target;
  try {
    await writeParts(written, path, parts);
    if (isReplaceable) await rename(unfinished, target);
  } finally {
    if (isReplaceable) await rm(unfinished, { force: true });
  }
}

async function writeParts(
  file: string,
  path: string,
  parts: AsyncIterable<Uint8Array> | Iterable<string>,
): Promise<void> {
  const stream = createWriteStream(file);
  const done = finished(stream).catch((error: unknown) => {
    throw new CliError(
      `${path} cannot be written (${fileReason(error)}). Choose another place for it.`,
      error,
    );
  });
  // It is awaited below, unless `parts` throws: then nobody asks any more how the writing went.
  done.catch(() => undefined);
  try {
    for await (const part of parts) {
      if (stream.write(part)) continue;
      await Promise.race([done, new Promise<void>((resolve) => stream.once('drain', () => resolve()))]);
    }
    stream.end();
    await done;
  } finally {
    stream.destroy();
  }
}

interface Place {
  readonly target: string;
  /** A device or a pipe is written to and never replaced. */
  readonly isReplaceable: boolean;
}

async function place(path: string): Promise<Place> {
  try {
    const target = await realpath(path);
    return { target, isReplaceable: (await stat(target)).isFile() };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { target: path, isReplaceable: true };
    throw new CliError(
      `${path} cannot be written (${fileReason(error)}). Choose another place for it.`,
      error,
    );
  }
}
