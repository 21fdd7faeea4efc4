/** The operator's log. Core never logs a key, a prompt or audio. */
import type { ParleyError } from './errors.ts';
import type { RequestId } from './ids.ts';

export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

interface FailedRequest {
  readonly requestId: RequestId;
  readonly account?: string;
  readonly model?: string | undefined;
  readonly engine?: string | undefined;
}

/** Logs a failure that the operator must look into. Other errors are the caller's, and the answer says what to do. */
export function logFailure(log: Log, request: FailedRequest, error: ParleyError): void {
  if (error.code !== 'internal_error' && error.code !== 'upstream_error') return;
  const cause = error.cause ?? error;
  log.error({ ...request, err: error.code === 'upstream_error' ? briefError(cause) : cause }, error.message);
}

export interface BriefError {
  readonly type: string;
  /** Includes the messages of its causes, the nearest first. */
  readonly message: string;
  /** Code such as `ECONNREFUSED`. */
  readonly code?: string;
}

/** An error for the log without its stack, for failures of another server, which this program did not cause. */
export function briefError(error: unknown): BriefError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const message = messagesOf(error).join(': ');
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  return { type: error.constructor.name, message, ...code };
}

const depthMax = 5;

function messagesOf(error: unknown, depth = 0): string[] {
  if (!(error instanceof Error) || depth > depthMax) return [];
  // An AggregateError, from connecting to several addresses, has no message of its own.
  const said =
    error instanceof AggregateError
      ? error.errors.flatMap((inner) => messagesOf(inner, depth + 1)).join(', ')
      : '';
  return [error.message || said, ...messagesOf(error.cause, depth + 1)].filter((text) => text !== '');
}
