import { setTimeout as sleep } from 'node:timers/promises';
import { isRepeatable, isStorageFailure, UnknownOutcomeError, unusable } from './storage-failures.ts';

/** How long an operation waits for a database that is away. */
export const waitMsMax = 2_000;
export const retryMs = 100;

/**
 * Runs until it succeeds, as long as the database is away, but at most for two seconds. A write of which nobody knows whether it was
 * committed does not run again.
 * @throws `overloaded` after that, or the error of `run`
 */
export async function patiently<T>(run: () => Promise<T>): Promise<T> {
  const sinceMs = performance.now();
  for (;;) {
    try {
      return await run();
    } catch (error) {
      const isAway = isStorageFailure(error);
      if (!isAway && !isRepeatable(error)) throw error;
      const isLate = performance.now() - sinceMs >= waitMsMax;
      if (isLate || error instanceof UnknownOutcomeError) throw unusable(error);
      await sleep(retryMs);
    }
  }
}

/** Gives up on a promise after two seconds. Its later outcome does not matter. @throws `overloaded` then */
export async function soon<T>(promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unusable(new Error('the database does not answer'))), waitMsMax);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
