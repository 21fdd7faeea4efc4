const groupSize = 50;

/**
 * Does work for many items, fifty at a time, and returns the results in their order. All at once would take a busy machine more than the
 * two seconds for which the store waits for PostgreSQL.
 */
export async function inGroups<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += groupSize)
    results.push(...(await Promise.all(items.slice(at, at + groupSize).map(work))));
  return results;
}
