import { briefError } from './brief-error.ts';
import type { ParleyError } from './errors.ts';
import type { RequestId } from './ids.ts';
import type { Log } from './ports/log.ts';

/** Of which request a failure was told last. It passes by several who could tell of it: whoever is the first does. */
const told = new WeakMap<ParleyError, RequestId>();

/** Tells the operator of a failure that is theirs to look into. The caller has what they can act on. */
export function logFailure(log: Log, requestId: RequestId, error: ParleyError): void {
  if (error.code !== 'internal_error' && error.code !== 'upstream_error') return;
  if (told.get(error) === requestId) return;
  told.set(error, requestId);
  const cause = error.cause ?? error;
  log.error({ requestId, err: error.code === 'upstream_error' ? briefError(cause) : cause }, error.message);
}
