import { ParleyError } from './errors.ts';
import type { Page, PageRequest } from './ports/page.ts';

export const pageSizeDefault = 100;
export const pageSizeMax = 1_000;

/** A page token is the id of the page's last item. */
const tokenPattern = /^[a-z]{3}_[0-9a-f]{32}$/;

/** @throws `invalid_parameter` for a size outside 1 to 1,000, and for a malformed page token */
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
  const after = request.pageToken;
  if (after !== undefined && !tokenPattern.test(after)) {
    throw new ParleyError('invalid_parameter', {
      message:
        '`page_token` is not one that a page gave. Send its `next_page_token`, or none for the first page.',
      param: 'page_token',
    });
  }
  return { size, after };
}

/** The token of the next page; no member on the last page. */
export function nextPage(page: Page<unknown, string>): { nextPageToken?: string } {
  return page.nextAfter === undefined ? {} : { nextPageToken: page.nextAfter };
}
