import {
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { fileReason, systemCode } from './reason.ts';

/**
 * Replaces the content of a file, or creates it for its owner alone. After a crash it has its old content or the new one. A link
 * stays, and the mode too.
 * @throws the system error
 */
export function replaceFile(path: string, text: string): void {
  const file = targetOf(path);
  const unfinished = `${file}.unfinished`;
  try {
    writeFileSync(unfinished, text, { flush: true, mode: 0o600 });
    const mode = statSync(file, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined) chmodSync(unfinished, mode);
    renameDurably(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** Renames a synced file; afterwards its new name is on disk. */
export function renameDurably(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(dirname(to), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Why `replaceFile` cannot replace or create the file, in words; undefined if it can. Tries it with an empty file beside it. */
export function unwritableReason(path: string): string | undefined {
  try {
    const unfinished = `${targetOf(path)}.unfinished`;
    writeFileSync(unfinished, '', { mode: 0o600 });
    rmSync(unfinished);
    return undefined;
  } catch (error) {
    return fileReason(error);
  }
}

function targetOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return path;
    throw error;
  }
}
