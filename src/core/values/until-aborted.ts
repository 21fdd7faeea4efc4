import type { Signal } from './signal.ts';

/** Settles as `work` does, or rejects with the signal's reason if it aborts first. */
export async function untilAborted<T>(work: Promise<T>, signal: Signal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
