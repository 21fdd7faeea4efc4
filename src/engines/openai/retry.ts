import {
  BrokenCircuitError,
  ExponentialBackoff,
  handleWhen,
  type IBackoff,
  type IBackoffFactory,
  type IRetryBackoffContext,
  type RetryPolicy,
  retry,
} from 'cockatiel';
import { ParleyError } from '../../core/errors.ts';

/** The longest that a request waits to be tried again. An upstream that asks for more is not asked again. */
const delayMsMax = 5_000;
const firstDelayMs = 100;

/** Tries again what cannot have run, with growing, jittered delays, or with those that the upstream asks for. */
export function retryWhatHasNotRun(retriesMax: number): RetryPolicy {
  const policy = retry(handleWhen(isWorthARetry), {
    maxAttempts: retriesMax,
    backoff: atLeastAsked(new ExponentialBackoff({ initialDelay: firstDelayMs, maxDelay: delayMsMax })),
  });
  return policy.dangerouslyUnref();
}

function isWorthARetry(error: unknown): boolean {
  if (!(error instanceof ParleyError) || !error.hasNotRun) return false;
  if (error.cause instanceof BrokenCircuitError) return false;
  return (error.retryAfterSeconds ?? 0) * 1000 <= delayMsMax;
}

type Context = IRetryBackoffContext<unknown>;

/** The same delays, but none shorter than the Retry-After of the answer before. */
function atLeastAsked(delays: IBackoffFactory<Context>): IBackoffFactory<Context> {
  return {
    next: (context): IBackoff<Context> => {
      const delay = delays.next(context);
      return { ...atLeastAsked(delay), duration: Math.max(delay.duration, askedMs(context)) };
    },
  };
}

function askedMs({ result }: Context): number {
  const error = 'error' in result ? result.error : undefined;
  return error instanceof ParleyError ? (error.retryAfterSeconds ?? 0) * 1000 : 0;
}
