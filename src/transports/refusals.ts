import type { ElementLimits, Excess } from '../codec/json-scan.ts';
import { plainPath } from '../codec/unknown-fields.ts';
import { type ErrorCode, ParleyError } from '../core/values/errors.ts';
import { quote } from '../core/values/quote.ts';

/** @throws `invalid_request_error` for a request that exceeds a limit */
export function refuseExcess(excess: Excess | undefined, limits: ElementLimits): void {
  if (excess === undefined) return;
  throw new ParleyError('invalid_request_error', { message: messages[excess](limits) });
}

const messages: Readonly<Record<Excess, (limits: ElementLimits) => string>> = {
  levelsMax: ({ levelsMax }) => `The request is nested more than ${levelsMax} levels deep. Send it flatter.`,
  elementsMax: ({ elementsMax }) =>
    `The request has more than ${elementsMax} elements (members of objects and of arrays). Send fewer at once.`,
  membersMax: ({ membersMax }) => `An object of the request has more than ${membersMax} members. Send fewer.`,
};

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
