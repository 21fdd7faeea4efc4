import { plainPath } from '../codec/unknown-fields.ts';
import { type ErrorCode, ParleyError } from '../core/values/errors.ts';
import { quote } from '../core/values/quote.ts';

/**
 * Refuses a NaN or an infinity, which an upstream would get as `null` or a text.
 * @param path of the number; undefined if all numbers are finite
 * @throws `code`
 */
export function refuseNonFinite(path: string | undefined, code: ErrorCode): void {
  if (path === undefined) return;
  throw new ParleyError(code, {
    message: `${quote(path)} is NaN or infinite. Send a finite number, or leave it out.`,
    ...(plainPath.test(path) && { param: path }),
  });
}
