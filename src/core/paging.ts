import { ParleyError } from './errors.ts';
import type { Page, PageRequest } from './ports/store.ts';

export const pageSizeDefault = 100;
export const pageSizeMax = 1_000;

/** @throws `invalid_parameter` for a size out of 1 to 1,000 */
export function readPage(request: {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}): PageRequest {
  const size = request.pageSize ?? pageSizeDefault;
  if (size < 1 || size > pageSizeMax) {
    throw new ParleyError('invalid_parameter', {
      message: `\`page_size\` must be from 1 to ${pageSizeMax}.`,
      param: 'page_size',
    });
  }
  return { size, after: request.pageToken };
}

/** The token that asks for the page after this one; no member on the last. */
export function nextPage(page: Page<unknown, string>): { nextPageToken?: string } {
  return page.nextAfter === undefined ? {} : { nextPageToken: page.nextAfter };
}
