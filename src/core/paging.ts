import { ParleyError } from './errors.ts';
import type { Page, PageRequest } from './ports/page.ts';

export const pageSizeDefault = 100;
export const pageSizeMax = 1_000;

/** A token is the id of a page's last item. */
const tokenPattern = /^[a-z]{3}_[0-9a-f]{32}$/;

/** @throws `invalid_parameter` for a size out of 1 to 1,000, and for what was never a page's token */
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

/** The token that asks for the page after this one; no member on the last. */
export function nextPage(page: Page<unknown, string>): { nextPageToken?: string } {
  return page.nextAfter === undefined ? {} : { nextPageToken: page.nextAfter };
}
