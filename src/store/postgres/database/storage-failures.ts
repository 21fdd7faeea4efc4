/** Failures of the connection or of the whole database, as opposed to one statement. */
import { DatabaseError } from 'pg';
import { ParleyError } from '../../../core/values/errors.ts';
import { StoreError } from '../../store-error.ts';

const retryAfterSeconds = 2;

/** Whether a commit took effect is unknown: its answer did not arrive. */
export class UnknownOutcomeError extends Error {
  constructor(cause: unknown) {
    super('The database did not confirm a commit.', { cause });
    this.name = 'UnknownOutcomeError';
  }
}

/**
 * Classes of SQLSTATE: connection failures, resources (disk full, too many connections), an operator who stops the database, and its own
 * failures.
 */
const storageClasses = ['08', '53', '57', '58', 'XX'];
/** A standby, which takes over or stays read-only. */
const readOnly = '25006';
const uniqueViolation = '23505';
/** Serialization failures and deadlocks: the same transaction succeeds when it is repeated. */
const lockTimeout = '55P03';
const repeatable = ['40001', '40P01', lockTimeout];
/** `idle_in_transaction_session_timeout`: this process was stopped in the middle of a transaction. */
const idleInTransaction = '25P03';

/** Whether the database, not the statement, is the reason. */
export function isStorageFailure(error: unknown): boolean {
  if (error instanceof UnknownOutcomeError) return true;
  if (!(error instanceof DatabaseError)) return isConnectionFailure(error);
  const { code = '' } = error;
  return code === readOnly || code === idleInTransaction || storageClasses.includes(code.slice(0, 2));
}

/** The driver has no class for errors of the socket. */
function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && /^E[A-Z]+$/.test(String(error.code))) return true;
  return /connection|timeout|not queryable|Client was closed/i.test(error.message);
}

export function isRepeatable(error: unknown): boolean {
  return error instanceof DatabaseError && repeatable.includes(error.code ?? '');
}

/**
 * Whether the error says that the id of a usage record exists. Only one process knows the id, so an earlier attempt of
 * that process has written it.
 */
export function isWrittenRecord(error: unknown): boolean {
  const { code, table } = error instanceof DatabaseError ? error : {};
  return code === uniqueViolation && table?.startsWith('usage_records') === true;
}

/** Whether another transaction keeps a row locked. */
export function isLocked(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === lockTimeout;
}

/** The error for a caller while the database cannot be used. */
export function unusable(cause: unknown): ParleyError {
  const message = 'The database of this server cannot be used at the moment. Wait, then try again.';
  return new ParleyError('overloaded', { message, retryAfterSeconds, cause });
}

/** Classes of SQLSTATE: the user or the password is wrong, or there is no such database. */
const refusalClasses = ['28', '3D', '42501'];

/** Whether the database cannot be used at all, as opposed to the failure of one statement. */
export function isRefused(error: unknown): boolean {
  if (isStorageFailure(error)) return true;
  return error instanceof DatabaseError && refusalClasses.some((one) => error.code?.startsWith(one));
}

/** The error at the start for a database that cannot be used. @param url its password is not shown */
export function unusableAt(url: string, cause: unknown): StoreError {
  const place = url.replace(/\/\/[^@/]*@/, '//').replace(/\?.*/, '');
  const advice = 'Start it, or correct `store.url`, its user or its password.';
  return new StoreError(`The database ${place} cannot be used (${reasonOf(cause)}). ${advice}`, cause);
}

/** A failure to connect to several addresses has no message of its own. */
function reasonOf(cause: unknown): string {
  const [first] = cause instanceof AggregateError ? cause.errors : [cause];
  return first instanceof Error ? first.message : String(first);
}
