import { setTimeout as sleep } from 'node:timers/promises';
import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { untilAborted } from '../../../core/values/until-aborted.ts';
import { LostCallError, StatusError } from '../errors.ts';
import { BrokenCircuitError } from './breaker.ts';

/** Maximum wait before a retry. A request with a longer Retry-After is not retried. */
const delayMsMax = 5_000;
const firstDelayMs = 100;

/**
 * Sends a request, and repeats it while it cannot have run. Delays grow and are jittered; a longer Retry-After of the
 * upstream wins.
 * @param repeatsLost whether a request whose connection is lost before the answer begins is sent once more
 */
export async function sendWithRetries<T>(
  send: () => Promise<T>,
  retriesMax: number,
  signal: Signal,
  repeatsLost = false,
): Promise<T> {
  let mayRepeat = repeatsLost;
  for (let retries = 0; ; retries++) {
    try {
      return await send();
    } catch (error) {
      const isRepeat = mayRepeat && isLost(error);
      if (isRepeat) mayRepeat = false;
      if (signal.aborted || !(isRepeat || (retries < retriesMax && isRetryable(error)))) throw error;
      const delayMs = Math.min(firstDelayMs * 2 ** retries, delayMsMax) * (0.5 + Math.random() / 2);
      const waitMs = Math.max(delayMs, retryAfterMs(error));
      await untilAborted(sleep(waitMs, undefined, { ref: false }), signal);
    }
  }
}

function isRetryable(error: unknown): error is ParleyError {
  if (!(error instanceof ParleyError) || !error.hasNotRun) return false;
  const { cause } = error;
  const isHopeless =
    cause instanceof BrokenCircuitError || (cause instanceof StatusError && cause.isAccountEmpty);
  return !isHopeless && retryAfterMs(error) <= delayMsMax;
}

function isLost(error: unknown): error is ParleyError {
  return error instanceof ParleyError && error.cause instanceof LostCallError;
}

function retryAfterMs({ retryAfterSeconds = 0 }: ParleyError): number {
  return retryAfterSeconds * 1000;
}
