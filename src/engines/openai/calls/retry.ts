import { BrokenCircuitError, DelegateBackoff, handleWhen, type RetryPolicy, retry } from 'cockatiel';
import { ParleyError } from '../../../core/errors.ts';

/** The longest wait before a retry. A request whose Retry-After is longer is not retried. */
const delayMsMax = 5_000;
const firstDelayMs = 100;

/** Retries requests that cannot have run, after growing, jittered delays, or after the upstream's Retry-After if longer. */
export function retryUnrunRequests(retriesMax: number): RetryPolicy {
  const policy = retry(handleWhen(isRetryable), {
    maxAttempts: retriesMax,
    backoff: new DelegateBackoff(({ attempt, result }) => {
      const delayMs = Math.min(firstDelayMs * 2 ** (attempt - 1), delayMsMax) * (0.5 + Math.random() / 2);
      return Math.max(delayMs, 'error' in result ? retryAfterMs(result.error) : 0);
    }),
  });
  return policy.dangerouslyUnref();
}

function isRetryable(error: unknown): boolean {
  if (!(error instanceof ParleyError) || !error.hasNotRun) return false;
  return !(error.cause instanceof BrokenCircuitError) && retryAfterMs(error) <= delayMsMax;
}

function retryAfterMs(error: unknown): number {
  return error instanceof ParleyError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
}
