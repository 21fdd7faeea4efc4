import type { Page, PageRequest } from '../../core/values/page.ts';

/** Reads one row more than the page has, to find out whether another page follows. */
export async function pageOf<T extends { readonly id: Id }, Id extends string>(
  page: PageRequest,
  read: (request: PageRequest) => Promise<T[]>,
): Promise<Page<T, Id>> {
  const rows = await read({ ...page, size: page.size + 1 });
  const items = rows.slice(0, page.size);
  return { items, nextAfter: rows.length > page.size ? items.at(-1)?.id : undefined };
}
