/** Checks of request fields that several services share. */
import { bounds, isWithin, matches } from './bounds.ts';
import { ParleyError } from './errors.ts';

export interface Page<T, Id extends string> {
  readonly items: readonly T[];
  /** The `after` of the next page; undefined on the last page. */
  readonly nextAfter: Id | undefined;
}

export interface PageRequest {
  readonly size: number;
  readonly after: string | undefined;
}

const pageSizeDefault = 100;

export function invalid(param: string, message: string): ParleyError {
  return new ParleyError('invalid_parameter', { message, param });
}

export function invalidInput(param: string, message: string): ParleyError {
  return new ParleyError('invalid_input', { message, param });
}

/** @throws `invalid_parameter`, listing the known values, for any other value */
export function readOneOf<T extends string>(
  param: string,
  value: string | undefined,
  known: readonly T[],
): T | undefined {
  const one = known.find((each) => each === value);
  if (value === undefined || one !== undefined) return one;
  throw invalid(param, `\`${param}\` must be one of ${known.join(', ')}.`);
}

/** Clients that let the user choose a language send `auto` for none. Models take a tag or nothing. */
export function namedLanguage(language: string | undefined): string | undefined {
  return language?.toLowerCase() === 'auto' ? undefined : language;
}

export interface PageFields {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

/** @throws `invalid_parameter` for a size outside 1 to 1,000, and for a malformed page token */
export function readPage(request: PageFields): PageRequest {
  const size = request.pageSize ?? pageSizeDefault;
  const { pageSize, pageToken } = bounds;
  if (!isWithin(size, pageSize)) {
    throw invalid('page_size', `\`page_size\` must be from 1 to ${pageSize.maximum}.`);
  }
  const after = request.pageToken;
  if (after !== undefined && !matches(after, pageToken)) {
    throw invalid(
      'page_token',
      '`page_token` does not come from a page. Send its `next_page_token`, or none for the first page.',
    );
  }
  return { size, after };
}

/** The token of the next page; no member on the last page. */
export function nextPage(page: Page<unknown, string>): { nextPageToken?: string } {
  return page.nextAfter === undefined ? {} : { nextPageToken: page.nextAfter };
}
