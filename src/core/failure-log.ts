import { briefError } from './brief-error.ts';
import type { ParleyError } from './errors.ts';
import type { RequestId } from './ids.ts';
import type { Log } from './ports/log.ts';

/** Logs a failure that the operator has to look into. Other errors are the caller's, who has been told what to do. */
export function logFailure(log: Log, requestId: RequestId, error: ParleyError): void {
  if (error.code !== 'internal_error' && error.code !== 'upstream_error') return;
  const cause = error.cause ?? error;
  log.error({ requestId, err: error.code === 'upstream_error' ? briefError(cause) : cause }, error.message);
}
