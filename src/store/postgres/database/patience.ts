import { setTimeout as sleep } from 'node:timers/promises';
import { isRepeatable, isStorageFailure, UnknownOutcomeError, unusable } from './storage-failures.ts';

/** How long an operation waits for an unreachable database. */
export const waitMsMax = 2_000;
export const retryMs = 100;
/** Interval at which waiting time is added up. */
export const watchMs = 200;

/**
 * Calls `onLate` after two seconds. Time in which the event loop was blocked does not count, as answers of the database
 * waited unread.
 * @returns a function that cancels it
 */
function whenLate(onLate: () => void): () => void {
  let waitedMs = 0;
  const timer = setInterval(() => {
    waitedMs += watchMs;
    if (waitedMs < waitMsMax) return;
    clearInterval(timer);
    onLate();
  }, watchMs);
  return () => clearInterval(timer);
}

/**
 * Repeats work while the database is unreachable, for at most two seconds. A write that may have been committed is not
 * repeated.
 * @throws `overloaded` after that, or the error of `run`
 */
export async function patiently<T>(run: () => Promise<T>): Promise<T> {
  let isLate = false;
  const stop = whenLate(() => {
    isLate = true;
  });
  try {
    for (;;) {
      try {
        return await run();
      } catch (error) {
        const isAway = isStorageFailure(error);
        if (!isAway && !isRepeatable(error)) throw error;
        if (isLate || error instanceof UnknownOutcomeError) throw unusable(error);
        await sleep(retryMs);
      }
    }
  } finally {
    stop();
  }
}

/** Gives up on a promise after two seconds. Its later outcome does not matter. @throws `overloaded` then */
export async function soon<T>(promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const stop = whenLate(() => reject(unusable(new Error('the database does not answer'))));
  try {
    return await Promise.race([promise, late]);
  } finally {
    stop();
  }
}
