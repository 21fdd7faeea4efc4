import { setTimeout as sleep } from 'node:timers/promises';
import { isRepeatable, isStorageFailure, UnknownOutcomeError, unusable } from './storage-failures.ts';

/** How long an operation waits for a database that is away. */
export const waitMsMax = 2_000;
export const retryMs = 100;
/** How often the time is counted that something waits. */
export const watchMs = 200;

/**
 * Calls `onLate` after two seconds. Time in which the event loop stood still does not count: answers of the database waited unread.
 * @returns ends it
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
 * Runs until it succeeds, as long as the database is away, but at most for two seconds. A write of which nobody knows whether it was
 * committed does not run again.
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
