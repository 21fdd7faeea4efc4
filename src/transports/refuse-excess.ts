import type { ElementLimits, Excess } from '../codec/json-scan.ts';
import { ParleyError } from '../core/values/errors.ts';

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
