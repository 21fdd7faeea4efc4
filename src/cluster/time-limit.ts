/** How long a worker may take to say how it is doing. */
export const answerMsMax = 2_000;

/** Rejects where it takes longer. What it comes to then is passed over. */
export async function inTime<T>(promise: Promise<T>, msMax: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${msMax} ms`)), msMax);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
