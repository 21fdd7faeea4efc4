/** Failures of the disk, the files or the whole database, as opposed to one statement. */

import type { StoreTrouble } from '../../../core/entities/store.ts';
import { ParleyError } from '../../../core/values/errors.ts';

/** Longer than the store needs to notice that writes succeed again. */
const retryAfterSeconds = 2;

/** The open files are no longer those of the data folder, so that writes to them are lost. */
export class DatabaseMovedError extends Error {
  readonly code = 'DATABASE_MOVED';

  constructor() {
    super('A file of the database was removed, moved or replaced while it was open.');
    this.name = 'DatabaseMovedError';
  }
}

/** An error of the database, copied from the writer thread. */
export class WriteError extends Error {
  readonly code: string | undefined;

  constructor({ message, code }: { readonly message: string; readonly code: string | undefined }) {
    super(message);
    this.name = 'WriteError';
    this.code = code;
  }
}

/** Translates an error of the database that the request did not cause; returns any other error unchanged. */
export function forCaller(error: unknown): unknown {
  return isStorageFailure(error) ? unusable(error) : error;
}

/** The error for a caller while the database cannot be used. */
export function unusable(cause: unknown): ParleyError {
  const message = isBusy(cause)
    ? 'Another program locks the database of this server. Wait, then try again.'
    : 'The database of this server cannot be used at the moment. Wait, then try again.';
  return new ParleyError('overloaded', { message, retryAfterSeconds, cause });
}

/** Runs a read. @throws `overloaded` if the database cannot be read */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw forCaller(error);
  }
}

/** A constraint of the tables has refused a write that the rules in memory allowed, so the books cannot be trusted. */
export function isViolation(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_CONSTRAINT');
}

/** Another program has locked the database. */
export function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY');
}

export function isSyncFailure(error: unknown): boolean {
  return ['SQLITE_IOERR_FSYNC', 'SQLITE_IOERR_DIR_FSYNC'].includes(codeOf(error));
}

export function isStorageFailure(error: unknown): boolean {
  return /^(DATABASE_MOVED|SQLITE_(BUSY|CANTOPEN|CORRUPT|FULL|IOERR|NOLFS|NOTADB|PERM|PROTOCOL|READONLY))/.test(
    codeOf(error),
  );
}

export function troubleOf(error: unknown): StoreTrouble {
  if (codeOf(error) === 'DATABASE_MOVED') return 'moved';
  return isBusy(error) ? 'locked' : 'unwritable';
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
