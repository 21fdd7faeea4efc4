import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { workingFolderIsGone } from '../../files/folders.ts';
import { fileReason, systemCode } from '../../files/reason.ts';
import { CliError } from '../terminal/command.ts';

export function folderIsMissing(dataDir: string): boolean {
  return !existsSync(dataDir);
}

/** Turns a system or SQLite error about the data folder into a CliError. Returns any other error unchanged. */
export function dataFolderError(error: unknown, dataDir: string): unknown {
  const code = systemCode(error);
  const isOfFiles =
    error instanceof Error && 'syscall' in error && ['mkdir', 'open'].includes(String(error.syscall));
  if (!isOfFiles && !/^SQLITE_(CANTOPEN|READONLY|IOERR|FULL)/.test(code ?? '')) return error;
  if (!isAbsolute(dataDir) && workingFolderIsGone()) {
    const message = `The data folder ${dataDir} cannot be used: the current working folder no longer exists. Change to another, or give an absolute path with --data-dir or PARLEY_DATA_DIR.`;
    return new CliError(message, error);
  }
  // All parent folders exist, so this is a file system that allows no new folders, such as /proc.
  const reason = code === 'ENOENT' ? 'no folder can be created there' : fileReason(error);
  return new CliError(
    `The data folder ${dataDir} cannot be used (${reason}). Repair it, or choose another with --data-dir or PARLEY_DATA_DIR.`,
    error,
  );
}
