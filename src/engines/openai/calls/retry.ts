import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { ParleyError } from '../../../core/values/errors.ts';
import type { Signal } from '../../../core/values/signal.ts';
import { untilAborted } from '../../../core/values/signal.ts';
import { ConnectionError, StatusError } from '../errors.ts';
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

function isLost(error: unknown): error is ConnectionError {
  return error instanceof ConnectionError && error.stage === 'waiting';
}

function retryAfterMs({ retryAfterSeconds = 0 }: ParleyError): number {
  return retryAfterSeconds * 1000;
}

/** The longest time that RetryInfo can carry: 10,000 years. */
const retryAfterSecondsMax = 315_576_000_000;

/**
 * Seconds from now, from the milliseconds of OpenAI's API, or whole ones from a Retry-After in seconds or as an HTTP date;
 * undefined if it is none of them.
 */
export function readRetryAfter(headers: IncomingHttpHeaders, nowMs: number): number | undefined {
  const ms = Number(headers['retry-after-ms'] || Number.NaN);
  const [retryAfter = ''] = [headers['retry-after']].flat();
  const seconds = ms >= 0 ? ms / 1000 : Math.ceil(secondsUntil(retryAfter.trim(), nowMs));
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), retryAfterSecondsMax);
}

function secondsUntil(retryAfter: string, nowMs: number): number {
  if (/^\d+(\.\d+)?$/.test(retryAfter)) return Number(retryAfter);
  // Date.parse accepts almost any number as a year; an HTTP date has the name of its month.
  if (!/[a-z]{3}/i.test(retryAfter)) return Number.NaN;
  // The oldest form of an HTTP date names no zone, and is in UTC like the others.
  const date = /GMT$/i.test(retryAfter) ? retryAfter : `${retryAfter} GMT`;
  return (Date.parse(date) - nowMs) / 1000;
}
