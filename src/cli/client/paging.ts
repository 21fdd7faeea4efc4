import { InvalidArgumentError } from 'commander';

/** The most that a page can have. */
const pageSizeMax = 1_000;
export const limitDefault = 20;

export interface PageRequest {
  readonly pageSize: number;
  readonly pageToken?: string;
}

interface Page<Item> {
  readonly items: readonly Item[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

/** The first `limit` items of as many pages as that takes. */
export async function collect<Item>(
  limit: number,
  read: (request: PageRequest) => Promise<Page<Item>>,
): Promise<Item[]> {
  const all: Item[] = [];
  let pageToken: string | undefined;
  do {
    const pageSize = Math.min(limit - all.length, pageSizeMax);
    const page = await read({ pageSize, ...(pageToken !== undefined && { pageToken }) });
    all.push(...page.items);
    pageToken = page.next;
  } while (pageToken !== undefined && all.length < limit);
  return all;
}

/** How many to show. @throws InvalidArgumentError */
export function parseLimit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write a whole number from 1 to 999999.');
}
