import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { fileReason, systemCode } from '../../files/reason.ts';
import { CliError } from '../terminal/cli-error.ts';

export function folderIsMissing(dataDir: string): boolean {
  return !existsSync(dataDir);
}

/** Puts into words that a data folder cannot be used; any other error stays what it is. */
export function worded(error: unknown, dataDir: string): unknown {
  const code = systemCode(error);
  const isOfFiles =
    error instanceof Error && 'syscall' in error && ['mkdir', 'open'].includes(String(error.syscall));
  if (!isOfFiles && !/^SQLITE_(CANTOPEN|READONLY|IOERR|FULL|NOTADB|CORRUPT)/.test(code ?? '')) return error;
  if (!isAbsolute(dataDir) && workingFolderIsGone()) {
    const message = `The data folder ${dataDir} cannot be used: the folder that this was started in is gone. Start it in another, or give the whole path with --data-dir or PARLEY_DATA_DIR.`;
    return new CliError(message, error);
  }
  // All folders above it were made or are there: it is the system that takes none.
  const reason = code === 'ENOENT' ? 'no folder can be made there' : fileReason(error);
  return new CliError(
    `The data folder ${dataDir} cannot be used (${reason}). Mend it, or choose another with --data-dir or PARLEY_DATA_DIR.`,
    error,
  );
}

/** Whether the folder that this process was started in has been deleted: nothing can be made in it. */
export function workingFolderIsGone(): boolean {
  try {
    process.cwd();
    return false;
  } catch {
    return true;
  }
}
