/**
 * Runs `work` on items, at most `atOnce` at the same time, and yields what it gives in the order of the items, each as
 * soon as it and all before it are there. `work` does not reject: what fails is a result like any other.
 */
export async function* inOrder<T, R>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R> {
  const jobs = items.map((item) => ({ item, done: Promise.withResolvers<R>() }));
  // All lanes take from the one iterator, so that none waits for another.
  const waiting = jobs.values();
  const lane = async () => {
    for (const { item, done } of waiting) done.resolve(await work(item));
  };
  const lanes = Array.from({ length: atOnce }, lane);
  for (const { done } of jobs) yield await done.promise;
  await Promise.all(lanes);
}
