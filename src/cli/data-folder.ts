import { existsSync } from 'node:fs';
import { CliError, fileReason, systemCode } from './cli-error.ts';

export function folderIsMissing(dataDir: string): boolean {
  return !existsSync(dataDir);
}

/** Puts into words that a data folder cannot be used; any other error stays what it is. */
export function worded(error: unknown, dataDir: string): unknown {
  const code = systemCode(error);
  const isOfFiles =
    error instanceof Error && 'syscall' in error && ['mkdir', 'open'].includes(String(error.syscall));
  if (!isOfFiles && !/^SQLITE_(CANTOPEN|READONLY|IOERR|FULL|NOTADB|CORRUPT)/.test(code ?? '')) return error;
  return new CliError(
    `The data folder ${dataDir} cannot be used (${fileReason(error)}). Mend it, or choose another with --data-dir or PARLEY_DATA_DIR.`,
    error,
  );
}
