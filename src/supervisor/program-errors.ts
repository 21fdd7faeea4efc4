/** Errors of requests whose program does not run. They have not run, so another engine may serve them. */
import { ParleyError } from '../core/values/errors.ts';

/** The error of a start that was given up. */
export function stopped(): ParleyError {
  const message = 'The program of this model is being ended. Try again.';
  return new ParleyError('engine_unavailable', { message, retryAfterSeconds: 1, hasNotRun: true });
}

/** @param waitMs until it may be started again */
export function unavailable(name: string, reason: string, waitMs: number): ParleyError {
  return new ParleyError('engine_unavailable', {
    message: `The program of the engine ${name} failed (${reason}). Try again later, or ask the operator.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    hasNotRun: true,
  });
}
